"""Effects: what each row of a table changes against its baseline row, in print and in ours, paired by seed."""

from collections.abc import Iterator

from replicse.judge.crossed import crossed_designs, crossed_difference
from replicse.judge.report import Effect
from replicse.judge.shape import row_effects
from replicse.judge.table import ItemResult
from replicse.registry.suites import is_percentage


def effects_of(item: ItemResult) -> Iterator[Effect]:
    """Yield the effect of every row that we measured next to its baseline row, column by column."""
    designs = crossed_designs(item)
    for column, each in row_effects(item):
        cell = item.id_at(each.row, column)
        crossed = crossed_difference(designs, item.baseline, cell)
        yield Effect(
            row=item.row_names[each.row].lstrip("* "),
            printed=each.printed,
            ours=each.ours,
            item=item.item,
            cell=cell,
            base=item.row_names[item.baseline].lstrip("* "),
            column=column.label,
            points=is_percentage(item.described[cell].metric_path),
            crossed=None if crossed is None else tuple(map(tuple, crossed)),
        )
