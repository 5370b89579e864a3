"""Differences of the rows of a table to the baseline row, paired by seed."""

from collections.abc import Iterator

from replicse.judge.report.report_types import Effect
from replicse.judge.statistics.agreement import row_differences
from replicse.judge.statistics.crossed import crossed_designs, crossed_difference
from replicse.judge.statistics.intervals import mean_of_crossed, p_of_mean
from replicse.judge.statistics.shape import column_values, shape_columns
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.levels import FEWEST_SEEDS
from replicse.registry.suites import is_percentage


def effects_of(item: ItemResult) -> Iterator[Effect]:
    """Yield the effect of every measured row, column by column.

    The effect of a crossed row is averaged over all pairs of backbone and seed if there are at least three backbones.

    Args:
        item: the result of an item; it yields nothing if the item has no baseline.
    """
    designs = crossed_designs(item)
    base = _plain_label(item.row_names.get(item.baseline, ""))
    for column in shape_columns(item):
        for each in row_differences(*column_values(item, column, printed=False), item.baseline):
            cell = item.id_at(each.row, column)
            crossed = crossed_difference(designs, item.baseline, cell) or []
            ours, degrees, backbones = each.ours, each.ours.n - 1, 0
            if len(crossed) >= FEWEST_SEEDS:
                backbones = len(crossed)
                ours, degrees = mean_of_crossed(crossed), backbones - 1
            p = None if ours.low is None else p_of_mean(ours, degrees)
            yield Effect(
                row=_plain_label(item.row_names[each.row]),
                printed=each.printed,
                ours=ours,
                item=item.item,
                cell=cell,
                base=base,
                column=column.label,
                points=is_percentage(item.described[cell].metric_path),
                backbones=backbones,
                p=p,
            )


def _plain_label(label: str) -> str:
    """Return a label without the asterisk of a paper's own method."""
    return label.lstrip("* ")
