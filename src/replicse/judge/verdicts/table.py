"""The result of an item, which all outputs use."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, UserMessage
from replicse.compile.copies import read_unchanged
from replicse.judge.values.machines import Machine, describe_mixture
from replicse.printable import standing
from replicse.registry.levels import FEWEST_SEEDS
from replicse.registry.mteb import NOT_LOCAL
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.printed import Reported

Kind = Literal["score", "difference", "text", "derived"]
Verdict = Literal[
    "", "failed", "not run", "not comparable", "undetermined", "within seed spread", "higher", "lower",
    "equal", "not equal",
]  # fmt: skip
QUOTED, NOT_COMPARABLE, ABSENT = "quoted", "not comparable", "data absent"
# Verdicts on a run and not on a paper, which are shown at every scale.
FACTS = ("failed", "not run", ABSENT)
# Values are saved with full precision; only the order of summation may differ.
ROUNDING = 1e-6


class ColumnHead(Checked):
    """A column of an item, as it is shown.

    By default, a column shows the mean score over seeds, and a higher score is better.

    Attributes:
        average: whether the column shows an average over tasks.
        task: whether the column shows a task of such an average.
        step: the training step of a column of a trajectory, -1 for the last step; None for other columns.
        statistic: the statistic over seeds.
        chosen: the hyper-parameter that is shown for the best job; an empty string for other columns.
    """

    id: str
    label: str
    metric: str = ""
    kind: Kind = "score"
    metric_path: str = ""
    better: Literal["higher", "lower"] = "higher"
    average: bool = False
    task: bool = False
    step: int | None = None
    statistic: str = "mean"
    chosen: str = ""


class RowHead(Checked):
    """A row of an item, as it is shown.

    By default, the numbers of the row are the paper's own.

    Attributes:
        quoted: whether the paper quotes the row from elsewhere.
        merged: the first row above with the same runs at this scale; all of these rows in items of earlier versions.
    """

    id: str
    label: str
    group: str = ""
    quoted: bool = False
    note: str = ""
    merged: tuple[str, ...] = ()


Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class JobValue(Checked):
    """The number and the hyper-parameters of a job of a search."""

    encoder: str
    run: str = ""
    value: Finite | None = None
    settings: dict[str, Any] = {}


class SeedValue(Checked):
    """The value of a cell for one seed; None if it is missing.

    Attributes:
        encoder: the encoder; an empty string if the value is computed from several encoders.
        run: the run that trained the encoder; an empty string if it was not trained.
        group: a digest of the names of several encoders.
        jobs: the jobs of a search.
    """

    seed: int | None = None
    value: Finite | str | None = None
    encoder: str = ""
    run: str = ""
    group: str = ""
    jobs: tuple[JobValue, ...] = ()


class CellResult(Checked):
    """A cell under a protocol: the printed number, our values and the verdict.

    Attributes:
        reported: the printed number.
        subtracted: the printed number that the column subtracts from our values.
        values: our values by seed.
        reproduced: the statistic over our values.
        delta: `reproduced` minus the printed number.
        low, high: the interval in which the printed number is expected.
        pairs_low, pairs_high: the interval of a correlation over resampled test pairs.
        text: our sentences, for a column of sentences.
        borrowed: whether the interval uses a published standard deviation.
        published_sd: a published standard deviation that was measured in the setting of the cell.
        precision: the precision of the runs, and the paper's precision if it differs.
        machines: all machines that trained or evaluated the encoders.
        packages: digests of the versions of this package that trained or evaluated the encoders.
        p: the p-value of the cell alone.
        p_adjusted: the p-value after Benjamini-Hochberg over the cells of the paper; None before the adjustment.
        if_best: the verdict if the printed number is the best of ten runs.
    """

    row: str
    column: str
    metric: str
    protocol: str
    metric_path: str = ""
    reported: Reported | None = None
    subtracted: Reported | None = None
    values: tuple[SeedValue, ...] = ()
    seedless: bool = False
    failure: str = ""
    reproduced: Finite | None = None
    text: str = ""
    delta: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    n_seeds: int = 0
    verdict: Verdict = ""
    reason: str = ""
    borrowed: bool = False
    pairs_low: Finite | None = None
    pairs_high: Finite | None = None
    precision: str = ""
    machines: tuple[Machine, ...] = ()
    packages: tuple[str, ...] = ()
    published_sd: Finite | None = None
    p: Finite | None = None
    p_adjusted: Finite | None = None
    if_best: Verdict = ""
    encoders: tuple[str, ...] = ()

    @property
    def best_of_ten(self) -> str:
        """Return the verdict if the printed number is the best of ten runs.

        Returns an empty string if the verdict does not change.
        """
        if self.if_best in ("", self.verdict):
            return ""
        return f"{self.if_best}, if the printed number is the best of ten runs"

    @property
    def few(self) -> tuple[float, ...]:
        """Return the numbers of two seeds, which are too few for an interval.

        Returns an empty tuple for other cells.
        """
        numbers = tuple(each.value for each in self.values if isinstance(each.value, float))
        if self.reproduced is None or self.low is not None or not 1 < len(numbers) < FEWEST_SEEDS:
            return ()
        return numbers

    @property
    def printed(self) -> float | None:
        """Return the printed number; None if no number is printed."""
        if self.reported is None or self.reported.number is None:
            return None
        return self.reported.number.value

    @property
    def mixture(self) -> str:
        """Return a sentence about several machines.

        Returns an empty string for a single machine.
        """
        return describe_mixture(self.machines)

    def shown_verdict(self, comparable: bool, quoted: bool = False) -> str:
        """Return the verdict to show.

        Args:
            comparable: whether numbers of the scale can be compared with the paper. If not, verdicts are replaced.
            quoted: whether the paper quotes the number from elsewhere. Default: False.
        """
        if quoted and self.reported and self.reported.value.strip():
            return QUOTED
        if quoted:
            return ""
        verdict = ABSENT if NOT_LOCAL in self.failure else self.verdict
        if not comparable and verdict and verdict not in FACTS:
            return NOT_COMPARABLE
        return verdict


class ItemResult(Checked):
    """A table or figure with all cells in the paper's order.

    `comparable` is whether numbers of the scale can be compared with the paper, and `baseline` is the id of the row
    that other rows are compared with, or an empty string.

    Attributes:
        is_embedded: whether the datasets are generated; differences to published numbers are then meaningless.
        variants: titles of protocols that are run only for adjudication; their cells are not shown in the table.
        curves: the data of a spectrum or a density, by row label.
        kept: the name of the committed study that contains the item.
        outdated: a sentence if this version would run something else.
    """

    item: str
    paper: str
    scale: str
    comparable: bool
    is_embedded: bool = False
    kind: Literal["table", "figure"]
    title: str
    place: str
    figure: str = ""
    setting: dict[str, str] = {}
    baseline: str = ""
    columns: tuple[ColumnHead, ...]
    rows: tuple[RowHead, ...]
    cells: tuple[CellResult, ...]
    variants: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    deviations: str = ""
    curves: dict[str, Any] = {}
    kept: str = ""
    outdated: str = ""

    @classmethod
    def read(cls, file: Path | str) -> Self:
        """Load a result from a JSON file.

        Args:
            file: the file.

        Raises:
            BadInput: if the file contains a mistake, or was changed since the job wrote it.
        """
        return cls.of(read_unchanged(file), str(file))

    @model_validator(mode="before")
    @classmethod
    def _drop_config(cls, document: Any) -> Any:
        """Drop the digest of the config in items of earlier versions."""
        if not isinstance(document, dict) or "config" not in document:
            return document
        document = dict(document)
        del document["config"]
        return document

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        statistics = {column.id: column.statistic for column in self.columns}
        for cell in self.cells:
            problem = next(_contradictions(cell, statistics.get(cell.column, "")), "")
            if problem:
                place = self.id_of(cell).place
                raise UserMessage(f"cell {place} ({cell.protocol}): {problem}; run the item again")
        return self

    def rows_with_same_runs(self, row: RowHead) -> list[str]:
        """Return the rows above a row with the same runs at this scale."""
        above = self.rows[: self.rows.index(row)]
        first = row.merged[:1]
        return [
            other.id for other in above if first and (other.id in row.merged or other.merged[:1] == first)
        ]

    @property
    def mixed(self) -> list[CellResult]:
        """Return the cells with numbers from several machines."""
        return [cell for cell in self.cells if len(cell.machines) > 1]

    @property
    def mixture(self) -> str:
        """Return a sentence about the machines of mixed cells.

        Returns an empty string if no cell is mixed.
        """
        return describe_mixture(chain.from_iterable(cell.machines for cell in self.mixed))

    @property
    def standing(self) -> str:
        """Return the scale, with `not comparable` if it is not the papers' scale.

        Every figure shows this string.
        """
        return standing(self.scale, self.comparable)

    @property
    def caveat(self) -> str:
        """Return `micro: not comparable` if the scale is not the papers' scale.

        Returns an empty string otherwise.
        """
        return "" if self.comparable else self.standing

    def id_of(self, cell: CellResult) -> CellId:
        """Return the id of a cell of this item."""
        return CellId(self.item, cell.row, cell.column, cell.metric, cell.protocol)

    def id_at(self, row: str, column: ColumnHead, protocol: str = AS_DESCRIBED) -> CellId:
        """Return the id of the cell at a row and column.

        The default protocol is `as-described`, the setting in the paper's text.
        """
        return CellId(self.item, row, column.id, column.metric, protocol)

    def name_of(self, cell: CellId) -> str:
        """Return `simcse/table3/p0.1/stsb-dev`, with the metric if it is needed."""
        return str(cell) if sum(column.id == cell.column for column in self.columns) > 1 else cell.short

    @property
    def by_id(self) -> dict[CellId, CellResult]:
        """Return the cells by id."""
        return {self.id_of(cell): cell for cell in self.cells}

    @property
    def described(self) -> dict[CellId, CellResult]:
        """Return the cells of the protocol `as-described`, by id."""
        return {self.id_of(cell): cell for cell in self.cells if cell.protocol == AS_DESCRIBED}

    @property
    def row_names(self) -> dict[str, str]:
        """Return the label of each row, with the group if it is not unique."""
        labels = Counter(row.label for row in self.rows)
        names = {}
        for row in self.rows:
            names[row.id] = row.label
            if labels[row.label] > 1:
                names[row.id] = f"{row.label} ({row.group})"
        return names


def _contradictions(cell: CellResult, statistic: str) -> Iterator[str]:
    """Yield an error for each number of a cell that contradicts other numbers.

    `statistic` is the statistic of the column.
    """
    for name, low, high in (("low", cell.low, cell.high), ("pairs_low", cell.pairs_low, cell.pairs_high)):
        if low is not None and high is not None and low > high:
            yield f"{name} is {low}, above {name.replace('low', 'high')}, which is {high}"
    if cell.reproduced is None:
        return
    numbers = [each.value for each in cell.values if isinstance(each.value, float)]
    mean = math.fsum(numbers) / len(numbers) if numbers else None
    if cell.values and cell.n_seeds != len(numbers):
        yield f"n_seeds is {cell.n_seeds}, but the number of values is {len(numbers)}"
    elif mean is not None and statistic == "mean" and abs(cell.reproduced - mean) > ROUNDING:
        yield f"reproduced is {cell.reproduced}, but the seeds have the mean {mean:.6g}"
    if cell.printed is None or cell.delta is None:
        return
    difference = cell.reproduced - cell.printed
    if abs(cell.delta - difference) > ROUNDING:
        yield f"delta is {cell.delta}, but reproduced minus reported is {difference:.6g}"
