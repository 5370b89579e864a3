"""The report of a study, which every output format uses."""

from dataclasses import dataclass
from typing import Any

from replicse.checked import Checked
from replicse.compile.job import AGAIN
from replicse.judge.report.judgements import Explained, Finding, JudgedClaim, Paired
from replicse.judge.values.machines import Machine, describe_mixture
from replicse.judge.values.origins import commits_in
from replicse.judge.verdicts.others import Others, RecordSummary
from replicse.judge.verdicts.table import ItemResult
from replicse.spec.causes import Cause, CausesPage, Measured
from replicse.spec.cell_id import CellId


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b between our row means and the reported numbers.

    `p` is the two-sided p-value.
    """

    tau: float
    p: float
    n_rows: int


@dataclass(frozen=True)
class BestRow:
    """The best rows, printed and ours, including ties."""

    reported: tuple[str, ...]
    ours: tuple[str, ...]

    @property
    def kept(self) -> bool:
        """Return whether a row is best both in the paper and in our results."""
        return bool(set(self.reported) & set(self.ours))


@dataclass(frozen=True)
class RowDifference:
    """The difference of a row to the baseline row, printed and ours.

    `printed` is None unless both rows are printed; `ours` is paired by seed.
    """

    row: str
    printed: float | None
    ours: Paired

    @property
    def agrees(self) -> bool | None:
        """Return whether both differences have the same sign.

        Returns None if a difference is zero or not printed.
        """
        if not self.printed or not self.ours.mean:
            return None
        return (self.ours.mean > 0) == (self.printed > 0)


@dataclass(frozen=True)
class Effect(RowDifference):
    """The effect of a row against the baseline row, in a column.

    Attributes:
        item: the id of the item.
        cell: the id of the cell.
        base: the label of the baseline row; `row` is the label of the row.
        column: the label of the column.
        points: whether the effect is in percentage points.
        backbones: the number of backbones of a crossed row, with `ours` over all pairs of backbone and seed. Default:
            0, for other rows.
        p: the two-sided p-value. Default: None, if there is no interval.
    """

    item: str
    cell: CellId
    base: str
    column: str
    points: bool
    backbones: int = 0
    p: float | None = None

    @property
    def difference(self) -> str:
        """Return the compared rows in words."""
        return f"{self.row} minus {self.base}"

    @property
    def strength(self) -> tuple[bool, bool, float]:
        """Return the sort key of effects.

        Crossed effects are first, then percentages, then effects by their mean divided by half the width of the
        interval.
        """
        return bool(self.backbones), self.points, self.ours.strength

    @property
    def degrees(self) -> int:
        """Return the degrees of freedom of the interval."""
        return (self.backbones or self.ours.n) - 1

    @property
    def over(self) -> str:
        """Describe the values that our mean is computed from."""
        if self.backbones:
            return f"over {self.ours.n} pairs of backbone and seed"
        return "paired by seed"


@dataclass(frozen=True)
class ComparedRows:
    """The significant differences between rows (Holm).

    Attributes:
        tested: the number of tested differences.
        significant: the significant differences, the smallest p-value first.
    """

    tested: int
    significant: tuple[Effect, ...]


@dataclass(frozen=True)
class ColumnShape:
    """The shape of a column of an item, printed and ours.

    The shape is the order of rows, the best row and the signs of differences.

    Attributes:
        item, column: the ids of the item and the column.
        label: the label of the column, with the metric if it is not unique.
        printed, ours: the printed number and our mean of each row.
        order_printed, order_ours: the rows, the best row first.
        rank: the rank correlation of both.
        best: the best rows of both; None if they are unknown.
        signs: the differences to the baseline row.
    """

    item: str
    column: str
    label: str
    printed: dict[str, float]
    ours: dict[str, float]
    order_printed: tuple[str, ...]
    order_ours: tuple[str, ...]
    rank: RankAgreement
    best: BestRow | None
    signs: tuple[RowDifference, ...]


class JudgedItem(ItemResult):
    """An item with effects, counts of verdicts, and others' measurements.

    `others` is a dict from the id of the cell as described to the measurements.
    """

    effects: tuple[Effect, ...] = ()
    verdicts: dict[str, int] = {}
    others: Others = {}


@dataclass(frozen=True)
class AdjudicatedItem:
    """The shown cells of an adjudicated item.

    `left_out` is the number of cells that are not shown.
    """

    item: str
    shown: tuple[Explained, ...]
    left_out: int


@dataclass(frozen=True)
class GapExplained:
    """The variant that explains the most gaps of an item.

    Attributes:
        item: the id of the item.
        protocol: the variant.
        outcome: `explains` or `in part`.
        gaps: the number of gaps.
        rows: the labels of the rows.
        share, low, high: the share of all these gaps together, with the 95% interval.
    """

    item: str
    protocol: str
    outcome: str
    gaps: int
    rows: tuple[str, ...]
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Turned:
    """A column of an item with another best row than the paper."""

    item: str
    column: str
    best: BestRow


@dataclass(frozen=True)
class Orders:
    """Agreement of the results with the printed shape.

    Attributes:
        signs_kept, signs: the number of effects with the printed sign, and of all effects.
        best_kept, best: the number of columns with the printed best row, and of all columns with a best row.
        tau: the median of Kendall's tau-b over columns.
        columns: the number of columns.
        turned: the columns with another best row.
    """

    signs_kept: int
    signs: int
    best_kept: int
    best: int
    tau: float
    columns: int
    turned: tuple[Turned, ...]


@dataclass(frozen=True)
class Tests:
    """The number of tested cells, and of cells that differ from the paper.

    `false` is the expected share of false results among cells that differ.
    """

    cells: int
    found: int
    false: float


@dataclass(frozen=True)
class Seconds:
    """The time of parts of a study, as (name, seconds, jobs)."""

    parts: tuple[tuple[str, float, int], ...]
    runs: int
    evaluations: int


@dataclass(frozen=True)
class FailedJob:
    """A failed job with log file, last lines and remedy."""

    name: str
    log: str
    tail: tuple[str, ...]
    remedy: str


@dataclass(frozen=True)
class Incomplete:
    """An item with missing evaluations.

    The reasons are failed jobs and broken files.
    """

    item: str
    missing: int
    planned: int
    failed: tuple[FailedJob, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return `failed` if a job failed or a file is broken, else `not run`."""
        if self.failed or self.broken:
            return "failed"
        return "not run"

    @property
    def why(self) -> str:
        """Return why the item is incomplete."""
        return "; ".join([*(f"{job.name} failed" for job in self.failed), *self.broken]) or "not run yet"

    @property
    def remedy(self) -> str:
        """Return the remedies without duplicates."""
        remedies = [job.remedy for job in self.failed]
        if self.broken:
            remedies.append(f"fix or delete the file, {AGAIN}")
        return "; ".join(dict.fromkeys(remedies)) or "run the same command again"


class Report(Checked):
    """The content of a report.

    By default, a part is empty or None: the report does not contain it.

    Attributes:
        study: the record of the study.
        items: the items.
        claims: the judged claims.
        audit: the findings of the audit.
        adjudication: the adjudicated items.
        gaps_known: whether a printed gap is larger than its noise; None if there is no gap.
        gap_explained: the variant that explains the most gaps.
        differences: the significant differences of rows to their baseline rows.
        shapes: the shape of each column.
        orders: the summary of all `shapes`.
        tests: the number of tested cells.
        seconds: the time that the jobs took.
        machines: the machines that computed the numbers.
        incomplete: items with missing evaluations.
        causes_page, causes, measured: the page of causes, if it is included.
        record: the summary of the record, for the study of the record.
    """

    study: dict[str, Any]
    items: tuple[JudgedItem, ...] = ()
    claims: tuple[JudgedClaim, ...] = ()
    audit: tuple[Finding, ...] = ()
    adjudication: tuple[AdjudicatedItem, ...] = ()
    gaps_known: bool | None = None
    gap_explained: GapExplained | None = None
    differences: ComparedRows | None = None
    shapes: tuple[ColumnShape, ...] = ()
    orders: Orders | None = None
    tests: Tests | None = None
    seconds: Seconds | None = None
    machines: tuple[Machine, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()
    causes_page: CausesPage | None = None
    causes: tuple[Cause, ...] = ()
    measured: tuple[Measured, ...] = ()
    record: RecordSummary | None = None

    @property
    def mixture(self) -> str:
        """Return a sentence about several machines.

        Returns an empty string for a single machine.
        """
        return describe_mixture(self.machines)

    @property
    def commits(self) -> str:
        """Return the commits of the code of the study's parts."""
        return commits_in(self.study)

    @property
    def by_item(self) -> dict[str, JudgedItem]:
        """Return the items by id."""
        return {item.item: item for item in self.items}
