"""Effects: what each row of a table changes against its baseline row, in print and in ours, paired by seed."""

from collections.abc import Iterator
from dataclasses import dataclass

from replicse.judge.agreement import RowDifference
from replicse.judge.crossed import Crossed, crossed_designs, crossed_difference
from replicse.judge.shape import row_effects
from replicse.judge.statistics import Paired
from replicse.judge.table import CellResult, ColumnHead, ItemResult
from replicse.registry.suites import is_percentage


@dataclass(frozen=True)
class Effect(RowDifference):
    """What a row changes against the baseline row, both by their labels.

    `crossed` holds our differences on every backbone, if there are.
    """

    item: ItemResult
    column: ColumnHead
    cell: CellResult
    base: str
    crossed: Crossed | None

    @property
    def difference(self) -> str:
        """Return what is compared, in words."""
        return f"{self.row} less {self.base}"

    @property
    def points(self) -> bool:
        """Return whether it is measured in percentage points."""
        return is_percentage(self.cell.metric_path)

    @property
    def decided(self) -> bool:
        """Return whether the interval excludes zero, or where seeds are too few for one, all have one sign."""
        if self.ours.low is not None:
            return self.ours.resolved
        return self.ours.n > 1 and abs(sum(map(_sign, self.ours.by_seed))) == self.ours.n

    @property
    def strength(self) -> tuple[bool, bool, float]:
        """Return by what effects are ordered: crossed ones, percentages, then the mean over half the interval."""
        return bool(self.crossed), self.points, strength(self.ours)

    @property
    def measured(self) -> tuple[tuple[str, ...], str]:
        """Return the encoders and the metric of the row: tables that share them show one effect."""
        return self.cell.encoders, self.cell.metric_path


def strength(ours: Paired) -> float:
    """Return a mean difference over half its interval; of two seeds, which have none, the smaller difference."""
    if ours.low is None or ours.high is None:
        return min(map(abs, ours.by_seed))
    return 2 * abs(ours.mean) / (ours.high - ours.low or 1)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def effects_of(item: ItemResult) -> Iterator[Effect]:
    """Yield the effect of every row that we measured next to its baseline row, column by column."""
    designs = crossed_designs(item)
    for column, each in row_effects(item):
        key = (each.row, column.id, column.metric)
        yield Effect(
            item=item,
            column=column,
            cell=item.described[key],
            row=item.row_names[each.row].lstrip("* "),
            base=item.row_names[item.baseline].lstrip("* "),
            printed=each.printed,
            ours=each.ours,
            crossed=crossed_difference(designs, item.baseline, key),
        )
