"""Define the report of a study, which every output format renders."""

from dataclasses import dataclass
from typing import Any

from replicse.checked import Checked
from replicse.compile.job import AGAIN
from replicse.judge.report.judgements import Explained, Finding, JudgedClaim, Paired
from replicse.judge.values.machines import Machine, describe_mixture
from replicse.judge.verdicts.others import Others, RecordSummary
from replicse.judge.verdicts.table import ItemResult
from replicse.spec.causes import Cause, CausesPage, Measured
from replicse.spec.cell_id import CellId


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b between our row means and the reported numbers.

    `p` is two-sided.
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
        """Return whether a row that is best in the paper is best in our results."""
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

        Returns None if one is zero or not printed.
        """
        if not self.printed or not self.ours.mean:
            return None
        return (self.ours.mean > 0) == (self.printed > 0)


@dataclass(frozen=True)
class Effect(RowDifference):
    """The effect of a row against the baseline row, in one column.

    Attributes:
        base: the label of the baseline row; `row` is the label of the row.
        points: the effect is in percentage points.
        backbones: the number of backbones of a crossed row, with `ours` over all pairs of backbone and seed; else 0.
        p: the two-sided p-value, None without an interval.
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
        return f"{self.row} less {self.base}"

    @property
    def strength(self) -> tuple[bool, bool, float]:
        """Return the sort key of effects.

        Crossed effects are first, then percentages, then the mean divided by half the interval.
        """
        return bool(self.backbones), self.points, self.ours.strength

    @property
    def degrees(self) -> int:
        """Return the degrees of freedom of the interval."""
        return (self.backbones or self.ours.n) - 1

    @property
    def over(self) -> str:
        """Return in words what the mean of ours is over."""
        return f"over {self.ours.n} pairs of backbone and seed" if self.backbones else "paired by seed"


@dataclass(frozen=True)
class ComparedRows:
    """The significant differences between rows (Holm).

    `tested` is how many were tested; the smallest p-value is first.
    """

    tested: int
    significant: tuple[Effect, ...]


@dataclass(frozen=True)
class ColumnShape:
    """The shape of one column of an item, printed and ours.

    The shape is the order of rows, the best row and the signs of differences.

    Attributes:
        printed, ours: the printed number and our mean of each row.
        order_printed, order_ours: the rows, the best first.
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

    `others` are by the id of the cell as described.
    """

    effects: tuple[Effect, ...] = ()
    verdicts: dict[str, int] = {}
    others: Others = {}


@dataclass(frozen=True)
class AdjudicatedItem:
    """The shown cells of an adjudicated item.

    `left_out` is how many cells are not shown.
    """

    item: str
    shown: tuple[Explained, ...]
    left_out: int


@dataclass(frozen=True)
class GapExplained:
    """The variant that explains the most gaps of an item.

    `rows` are the labels of the rows, `share` is the share of all these gaps together.
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
    """A column of an item in which our best row is not the printed one."""

    item: str
    column: str
    best: BestRow


@dataclass(frozen=True)
class Orders:
    """How often results agree with the printed shape.

    Counts are of signs of effects and of best rows; `tau` is the median over columns. `turned` contains the columns in
    which another row is best.
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
    """How many cells were tested, and how many differ from the paper.

    `false` is the share of the latter that may be false.
    """

    cells: int
    found: int
    false: float


@dataclass(frozen=True)
class Seconds:
    """The time that parts of a study took, as (name, seconds, jobs)."""

    parts: tuple[tuple[str, float, int], ...]
    runs: int
    evaluations: int


@dataclass(frozen=True)
class FailedJob:
    """A failed job, its log with the last lines, and what to do."""

    name: str
    log: str
    tail: tuple[str, ...]
    remedy: str


@dataclass(frozen=True)
class Incomplete:
    """An item with missing evaluations.

    Failed jobs and broken files are the reasons.
    """

    item: str
    missing: int
    planned: int
    failed: tuple[FailedJob, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return `failed` if a job failed or a file is broken, else `not run`."""
        return "failed" if self.failed or self.broken else "not run"

    @property
    def why(self) -> str:
        """Return why the item is incomplete."""
        return "; ".join([*(f"{job.name} failed" for job in self.failed), *self.broken]) or "not run yet"

    @property
    def remedy(self) -> str:
        """Return what to do, without duplicates."""
        remedies = [job.remedy for job in self.failed]
        if self.broken:
            remedies.append(f"fix or delete the file, {AGAIN}")
        return "; ".join(dict.fromkeys(remedies)) or "give the same command again"


class Report(Checked):
    """Everything that a format shows of a study.

    Attributes:
        study: the record of the study.
        differences: the significant differences of rows to their baseline rows.
        orders: the summary of all `shapes`.
        gaps_known: whether a printed gap is larger than its noise; None if there is no gap.
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

        Returns an empty string for one machine.
        """
        return describe_mixture(self.machines)

    @property
    def by_item(self) -> dict[str, JudgedItem]:
        """Return the items by id."""
        return {item.item: item for item in self.items}
