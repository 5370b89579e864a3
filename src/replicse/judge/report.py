"""What a study found, as typed values: the one document that every format is drawn from."""

from dataclasses import dataclass
from typing import Any

from replicse.checked import Checked
from replicse.compile.job import AGAIN
from replicse.judge.judgements import Explained, Finding, JudgedClaim, Paired
from replicse.judge.machines import Machine, mixture
from replicse.judge.others import Others, RecordSummary
from replicse.judge.table import ItemResult
from replicse.spec.causes import Cause, CausesPage, Measured
from replicse.spec.cell_id import CellId


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b of our row means with the reported numbers, and a two-sided p-value."""

    tau: float
    p: float
    n_rows: int


@dataclass(frozen=True)
class BestRow:
    """The best rows in print and here, ties included, and whether one of those in print is best here."""

    reported: tuple[str, ...]
    ours: tuple[str, ...]

    @property
    def kept(self) -> bool:
        """Return whether a row that is best in print is best here."""
        return bool(set(self.reported) & set(self.ours))


@dataclass(frozen=True)
class RowDifference:
    """A row less its baseline row: in print, None unless both are printed, and ours, paired over seeds."""

    row: str
    printed: float | None
    ours: Paired

    @property
    def agrees(self) -> bool | None:
        """Return whether both have one sign; None where a difference has none, or nothing is printed."""
        return (self.ours.mean > 0) == (self.printed > 0) if self.printed and self.ours.mean else None


@dataclass(frozen=True)
class Effect(RowDifference):
    """What a row of an item changes against the baseline row `base`, both by their labels, in a column.

    `backbones` is 0, or how many carry every seed's run: `ours` is then over all pairs of backbone and seed.
    `points` says that it is measured in percentage points. `p` is two-sided, None without an interval.
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
        """Return what is compared, in words."""
        return f"{self.row} less {self.base}"

    @property
    def strength(self) -> tuple[bool, bool, float]:
        """Return by what effects are ordered: crossed ones, percentages, then the mean over half the interval."""
        return bool(self.backbones), self.points, self.ours.strength

    @property
    def degrees(self) -> int:
        """Return the degrees of freedom of the interval."""
        return (self.backbones or self.ours.n) - 1

    @property
    def over(self) -> str:
        """Return what the mean of ours is over, in words."""
        return f"over {self.ours.n} pairs of backbone and seed" if self.backbones else "paired by seed"


@dataclass(frozen=True)
class ComparedRows:
    """How many differences between rows were tested, and the significant ones among them (Holm), the clearest first."""

    tested: int
    significant: tuple[Effect, ...]


@dataclass(frozen=True)
class ColumnShape:
    """What one column of an item keeps of the order, the best row and the signs that it prints.

    `printed` and `ours` hold the printed number and our mean of each row, `order_printed` and `order_ours` the rows,
    best first.
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
    """An item with what its rows change, how many of its cells show each verdict, and what others measured of it.

    `others` are by the name of the cell as its paper describes it.
    """

    effects: tuple[Effect, ...] = ()
    verdicts: dict[str, int] = {}
    others: Others = {}


@dataclass(frozen=True)
class AdjudicatedItem:
    """What every variant does to the cells of an item that are shown, and how many cells are not."""

    item: str
    shown: tuple[Explained, ...]
    left_out: int


@dataclass(frozen=True)
class GapExplained:
    """The variant that explains the most gaps of an item, their rows by label, and its share of them together."""

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
    """A column of an item of which another row is best here than in print."""

    item: str
    column: str
    best: BestRow


@dataclass(frozen=True)
class Orders:
    """What tables keep of print: signs of effects and best rows, of how many; the median tau; best rows that turned."""

    signs_kept: int
    signs: int
    best_kept: int
    best: int
    tau: float
    columns: int
    turned: tuple[Turned, ...]


@dataclass(frozen=True)
class Tests:
    """How many cells were tested, how many were called higher or lower, and the share of these that may be false."""

    cells: int
    found: int
    false: float


@dataclass(frozen=True)
class Seconds:
    """What the parts of a study took, as (name, seconds, jobs), and how many runs and evaluations there are."""

    parts: tuple[tuple[str, float, int], ...]
    runs: int
    evaluations: int


@dataclass(frozen=True)
class FailedJob:
    """A job that failed, its log with the last lines of it, and what to do."""

    name: str
    log: str
    tail: tuple[str, ...]
    remedy: str


@dataclass(frozen=True)
class Incomplete:
    """An item of which evaluations are missing: how many, and what keeps them."""

    item: str
    missing: int
    planned: int
    failed: tuple[FailedJob, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return `failed` where something was tried, else `not run`."""
        return "failed" if self.failed or self.broken else "not run"

    @property
    def why(self) -> str:
        """Return what keeps the item from being complete."""
        return "; ".join([*(f"{job.name} failed" for job in self.failed), *self.broken]) or "not run yet"

    @property
    def remedy(self) -> str:
        """Return what to do, once for all that need the same."""
        remedies = [job.remedy for job in self.failed]
        remedies += [f"fix or delete the file, {AGAIN}"] * bool(self.broken)
        return "; ".join(dict.fromkeys(remedies)) or "give the same command again"


class Report(Checked):
    """Everything that a format prints of a study; `study` is its record.

    `differences` are of rows to their baseline rows, `orders` is what all `shapes` come to; `gaps_known` says whether a
    printed gap is known to be larger than its noise, None if there is no gap. `record` is the summary of the
    study of the record.
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
        """Return a sentence of the machines that made the numbers; blank for a single one."""
        return mixture(self.machines)

    @property
    def by_item(self) -> dict[str, JudgedItem]:
        """Return the items by their ids."""
        return {item.item: item for item in self.items}
