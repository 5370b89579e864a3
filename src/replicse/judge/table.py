"""One item's result: everything that tables, figures, claims, adjudication, `why` and the report know of it."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, UserMessage
from replicse.files import read_json
from replicse.judge.machines import Machine, mixture
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
# What happened to a run is no verdict on a paper, so it is said at every scale.
FACTS = ("failed", "not run", ABSENT)
# Numbers are kept in full: only the order of a sum may differ.
ROUNDING = 1e-6


class ColumnHead(Checked):
    """A column as it is shown. `average` says that it reads an average over tasks, `tasks` that it is one of its parts.

    `step` is the training step of a column of a trajectory, -1 for the end of it, None elsewhere; `statistic` names
    what is taken over seeds where it is not their mean; `chosen` the hyper-parameter that is shown of the best job.
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
    """A row as it is shown; `merged` names the rows above that it shares all of its runs with at this scale."""

    id: str
    label: str
    group: str = ""
    quoted: bool = False
    note: str = ""
    merged: tuple[str, ...] = ()


Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class JobValue(Checked):
    """What one job of a search gave in a cell: its number, and by path what the search set in its run."""

    encoder: str
    run: str = ""
    value: Finite | None = None
    settings: dict[str, Any] = {}


class SeedValue(Checked):
    """What one seed gave in one cell: a number or a text, None where it is missing; `run` is blank without training.

    Of several encoders `encoder` is blank, and `group` a digest of their names. `jobs` are those of a search.
    """

    seed: int | None = None
    value: Finite | str | None = None
    encoder: str = ""
    run: str = ""
    group: str = ""
    jobs: tuple[JobValue, ...] = ()


class CellResult(Checked):
    """One cell under one protocol: what is printed, ours per seed, and the judgement.

    `reproduced` is the statistic over seeds; `low` and `high` bound where the printed number is expected, `pairs_low`
    and `pairs_high` a correlation over resampled test pairs. `text` is what was found in a column of sentences.
    `borrowed` marks an interval from a published spread, `published_sd` is one that was measured in its setting;
    `precision` is that of the runs of the cell, and the paper's where that is another; `machines` are all that
    trained and evaluated them, `packages` digests of the versions of this package that did. `p` is that of the cell
    alone, `p_adjusted` after Benjamini-Hochberg over the cells of the paper, None until they are judged together;
    `if_best` is the verdict if print is the best of ten runs.
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
        """Return what the verdict is if print is the best of ten runs; blank where that is no other one."""
        changes = self.if_best not in ("", self.verdict)
        return f"{self.if_best}, if print is the best of ten" if changes else ""

    @property
    def few(self) -> tuple[float, ...]:
        """Return the numbers of several seeds that are too few for an interval; none where one is given or failed."""
        numbers = tuple(each.value for each in self.values if isinstance(each.value, float))
        shown = self.reproduced is not None and self.low is None
        return numbers if shown and 1 < len(numbers) < FEWEST_SEEDS else ()

    @property
    def printed(self) -> float | None:
        """Return the printed number; None where none is printed."""
        number = self.reported.number if self.reported else None
        return number.value if number else None

    @property
    def mixture(self) -> str:
        """Return a sentence of the machines that made it; blank for a single one."""
        return mixture(self.machines)

    def shown_verdict(self, comparable: bool, quoted: bool = False) -> str:
        """Return the verdict that may be shown at a scale, that data are absent, or that print is from elsewhere."""
        if quoted:
            return QUOTED if self.reported and self.reported.value.strip() else ""
        verdict = ABSENT if NOT_LOCAL in self.failure else self.verdict
        return verdict if comparable or not verdict or verdict in FACTS else NOT_COMPARABLE


class ItemResult(Checked):
    """A table or figure with all of its cells, in the paper's order, as `tabulate` writes it and everything reads it.

    `variants` contains the titles of protocols that are run only for adjudication: their cells are no lines of the
    table. `curves` contains what a spectrum or a density is drawn from, by row label. `kept` names the committed study
    that it is shown as a part of, `outdated` says where the present version would run something else.
    """

    item: str
    paper: str
    scale: str
    comparable: bool
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
        """Return the result in a JSON; BadInput names a mistake in it."""
        return cls.of(read_json(file), str(file))

    @model_validator(mode="before")
    @classmethod
    def _drop_config(cls, document: Any) -> Any:
        """Drop the digest of the config, which committed items of earlier versions contain."""
        if not isinstance(document, dict) or "config" not in document:
            return document
        return {key: value for key, value in document.items() if key != "config"}

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        statistics = {column.id: column.statistic for column in self.columns}
        for cell in self.cells:
            problem = next(_contradictions(cell, statistics.get(cell.column, "")), "")
            if problem:
                place = self.id_of(cell).place
                raise UserMessage(f"cell {place} ({cell.protocol}): {problem}; run the item again")
        return self

    @property
    def mixed(self) -> list[CellResult]:
        """Return the cells that several machines made."""
        return [cell for cell in self.cells if len(cell.machines) > 1]

    @property
    def mixture(self) -> str:
        """Return a sentence of the machines of these cells; blank where there are none."""
        return mixture(machine for cell in self.mixed for machine in cell.machines)

    @property
    def standing(self) -> str:
        """Return the scale, with `not comparable` where it is not the papers': no picture goes without it."""
        return standing(self.scale, self.comparable)

    @property
    def caveat(self) -> str:
        """Return `micro: not comparable` where the scale is not the papers', else nothing."""
        return "" if self.comparable else self.standing

    def id_of(self, cell: CellResult) -> CellId:
        """Return the name of one of its cells."""
        return CellId(self.item, cell.row, cell.column, cell.metric, cell.protocol)

    def id_at(self, row: str, column: ColumnHead, protocol: str = AS_DESCRIBED) -> CellId:
        """Return the name of the cell of a row in a column."""
        return CellId(self.item, row, column.id, column.metric, protocol)

    def name_of(self, cell: CellId) -> str:
        """Return `simcse/table3/p0.1/stsb-dev`, with its metric where its column has several."""
        return str(cell) if sum(column.id == cell.column for column in self.columns) > 1 else cell.short

    @property
    def by_id(self) -> dict[CellId, CellResult]:
        """Return the cells by name."""
        return {self.id_of(cell): cell for cell in self.cells}

    @property
    def described(self) -> dict[CellId, CellResult]:
        """Return the cells as the paper's text describes them, by name."""
        return {self.id_of(cell): cell for cell in self.cells if cell.protocol == AS_DESCRIBED}

    @property
    def row_names(self) -> dict[str, str]:
        """Return the label of each row, with its group where another row has the same label."""
        labels = Counter(row.label for row in self.rows)
        return {
            row.id: row.label if labels[row.label] == 1 else f"{row.label} ({row.group})" for row in self.rows
        }


def _contradictions(cell: CellResult, statistic: str) -> Iterator[str]:
    """Yield what numbers of a cell contradict others; `statistic` is that of its column."""
    for name, low, high in (("low", cell.low, cell.high), ("pairs_low", cell.pairs_low, cell.pairs_high)):
        if low is not None and high is not None and low > high:
            yield f"{name} is {low}, above {name.replace('low', 'high')}, which is {high}"
    if cell.reproduced is None:
        return
    numbers = [each.value for each in cell.values if isinstance(each.value, float)]
    if cell.values and cell.n_seeds != len(numbers):
        yield f"n_seeds is {cell.n_seeds}, but it holds numbers of {len(numbers)}"
    elif (
        numbers
        and statistic == "mean"
        and abs(cell.reproduced - math.fsum(numbers) / len(numbers)) > ROUNDING
    ):
        yield f"reproduced is {cell.reproduced}, but its seeds have the mean {math.fsum(numbers) / len(numbers):.6g}"
    target, delta = cell.printed, cell.delta
    if target is not None and delta is not None and abs(delta - (cell.reproduced - target)) > ROUNDING:
        yield f"delta is {delta}, but reproduced less reported is {cell.reproduced - target:.6g}"
