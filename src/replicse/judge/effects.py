"""Effects: what each row of a table changes against its baseline row, in print and in ours, paired by seed."""

from collections.abc import Iterator

from replicse.judge.agreement import row_differences
from replicse.judge.crossed import crossed_designs, crossed_difference
from replicse.judge.report import Effect
from replicse.judge.shape import column_values, shape_columns
from replicse.judge.statistics import mean_of_crossed, p_of_mean
from replicse.judge.table import ItemResult
from replicse.registry.levels import FEWEST_SEEDS
from replicse.registry.suites import is_percentage


def effects_of(item: ItemResult) -> Iterator[Effect]:
    """Yield the effect of every row that we measured next to its baseline row, column by column.

    Of rows that are crossed it is over all pairs of backbone and seed.
    """
    designs = crossed_designs(item)
    base = item.row_names.get(item.baseline, "").lstrip("* ")
    for column in shape_columns(item):
        for each in row_differences(*column_values(item, column, printed=False), item.baseline):
            cell = item.id_at(each.row, column)
            crossed = crossed_difference(designs, item.baseline, cell) or []
            backbones = len(crossed) if len(crossed) >= FEWEST_SEEDS else 0
            ours = mean_of_crossed(crossed) if backbones else each.ours
            p = None if ours.low is None else p_of_mean(ours, (backbones or ours.n) - 1)
            yield Effect(
                row=item.row_names[each.row].lstrip("* "),
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
