"""Effects: what each row of a table changes against its baseline row, in print and in ours, paired by seed."""

from collections.abc import Iterator

from replicse.judge.agreement import row_differences
from replicse.judge.crossed import crossed_designs, crossed_difference
from replicse.judge.report import Effect
from replicse.judge.shape import column_values, shape_columns
from replicse.judge.table import ItemResult
from replicse.registry.suites import is_percentage


def effects_of(item: ItemResult) -> Iterator[Effect]:
    """Yield the effect of every row that we measured next to its baseline row, column by column."""
    designs = crossed_designs(item)
    base = item.row_names.get(item.baseline, "").lstrip("* ")
    for column in shape_columns(item):
        for each in row_differences(*column_values(item, column, printed=False), item.baseline):
            cell = item.id_at(each.row, column)
            crossed = crossed_difference(designs, item.baseline, cell)
            yield Effect(
                row=item.row_names[each.row].lstrip("* "),
                printed=each.printed,
                ours=each.ours,
                item=item.item,
                cell=cell,
                base=base,
                column=column.label,
                points=is_percentage(item.described[cell].metric_path),
                crossed=None if crossed is None else tuple(map(tuple, crossed)),
            )
