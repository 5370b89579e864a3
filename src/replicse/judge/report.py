"""What a study found, as typed values: the one document that every format is drawn from."""

from dataclasses import dataclass

from replicse.judge.table import ItemResult
from replicse.spec.cell_id import CellId


@dataclass(frozen=True)
class Paired:
    """A difference in each seed that both sides have, their mean and its 95% bounds (None below three seeds)."""

    mean: float
    low: float | None
    high: float | None
    by_seed: tuple[float, ...]

    @property
    def n(self) -> int:
        """Return how many seeds both sides have."""
        return len(self.by_seed)

    @property
    def resolved(self) -> bool:
        """Return whether the interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def strength(self) -> float:
        """Return the mean over half the interval; of two seeds, which have none, the smaller difference."""
        if self.low is None or self.high is None:
            return min(map(abs, self.by_seed))
        return 2 * abs(self.mean) / (self.high - self.low or 1)


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b of our row means with the reported numbers, its interval and a two-sided p-value.

    The interval redraws our seeds; `low` and `high` are None where a row has two to nine, or all have
    one.
    """

    tau: float
    low: float | None
    high: float | None
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

    `crossed` holds our differences on every backbone, if there are;
    `points` says that it is measured in percentage points.
    """

    item: str
    cell: CellId
    base: str
    column: str
    points: bool
    crossed: tuple[tuple[float, ...], ...] | None = None

    @property
    def difference(self) -> str:
        """Return what is compared, in words."""
        return f"{self.row} less {self.base}"

    @property
    def decided(self) -> bool:
        """Return whether the interval excludes zero, or where seeds are too few for one, all have one sign."""
        if self.ours.low is not None:
            return self.ours.resolved
        return (
            self.ours.n > 1 and abs(sum((each > 0) - (each < 0) for each in self.ours.by_seed)) == self.ours.n
        )

    @property
    def strength(self) -> tuple[bool, bool, float]:
        """Return by what effects are ordered: crossed ones, percentages, then the mean over half the interval."""
        return bool(self.crossed), self.points, self.ours.strength


@dataclass(frozen=True)
class StrongEffect:
    """An effect chosen as the strongest of `candidates`, with bounds that hold for all of them together, if any.

    Tables that share runs name them differently ("p = 0.0", "No dropout"): `row` and `base` are the longer names.
    """

    effect: Effect
    row: str
    base: str
    candidates: int
    bounds: tuple[float, float] | None


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


@dataclass(frozen=True)
class RowAggregate:
    """The interquartile means of one row over its tasks, in print (None where a number is missing) and ours."""

    item: str
    row: str
    label: str
    n_tasks: int
    reported: float | None
    ours: Paired


class JudgedItem(ItemResult):
    """An item with what its rows change, and how many of its cells show each verdict."""

    effects: tuple[Effect, ...] = ()
    verdicts: dict[str, int] = {}
