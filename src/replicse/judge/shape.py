"""The shape of each tabulated column compared with the paper's: judged at every scale, and all that compact judges."""

from collections.abc import Iterator
from functools import partial

from replicse.judge.agreement import best_row, rank_agreement, row_differences
from replicse.judge.report import ColumnShape
from replicse.judge.statistics import mean_and_spread
from replicse.judge.table import CellResult, ColumnHead, ItemResult
from replicse.registry.suites import unit_of

FEWEST_ROWS = 3  # an order of two rows is one sign


def shapes(item: ItemResult) -> Iterator[ColumnShape]:
    """Yield the agreement of every column that has printed numbers and ours in at least three rows."""
    columns = shape_columns(item)
    labels = [column.label for column in columns]
    for column in columns:
        reported, ours = column_values(item, column)
        rank = rank_agreement(reported, ours) if len(reported) >= FEWEST_ROWS else None
        if rank is not None:
            alone = labels.count(column.label) == 1
            means = {
                row: mean_and_spread([each for each in ours[row] if each is not None])[0] for row in reported
            }
            order = partial(sorted, reverse=column.better == "higher")
            differences = row_differences(reported, ours, item.baseline)
            yield ColumnShape(
                item=item.item,
                column=column.id,
                label=column.label if alone else f"{column.label}, {column.metric}",
                printed=reported,
                ours=means,
                order_printed=tuple(order(reported, key=reported.__getitem__)),
                order_ours=tuple(order(means, key=means.__getitem__)),
                rank=rank,
                best=best_row(reported, ours, better=column.better),
                signs=tuple(each for each in differences if each.printed is not None),
            )


def shape_columns(item: ItemResult) -> list[ColumnHead]:
    """Return the columns whose shape is judged: an average stands for its parts, the end for a trajectory.

    Texts, differences, counts and chosen hyper-parameters have none.
    """
    counts = {(cell.column, cell.metric) for cell in item.cells if unit_of(cell.metric_path) == "count"}
    scores = (each for each in item.columns if each.kind in ("score", "derived") and not each.chosen)
    numbers = [column for column in scores if (column.id, column.metric) not in counts]
    averages = [column for column in numbers if column.average]
    return averages or [column for column in numbers if column.step in (None, -1)]


def column_values(
    item: ItemResult, column: ColumnHead, printed: bool = True
) -> tuple[dict[str, float], dict[str, list[float | None]]]:
    """Return the printed number and our value per seed by row, for rows that have both, or at least ours."""
    reported: dict[str, float] = {}
    ours: dict[str, list[float | None]] = {}
    described = item.described
    for row in item.rows:
        cell = described.get(item.id_at(row.id, column))
        number = cell.printed if cell else None
        values = seed_values(cell, column) if cell else []
        if (number is not None or not printed) and any(value is not None for value in values):
            reported |= {} if number is None else {row.id: number}
            ours[row.id] = values
    return reported, ours


def seed_values(cell: CellResult, column: ColumnHead) -> list[float | None]:
    """Return one number per seed; a cell that shows another statistic than their mean has that one alone."""
    if column.statistic != "mean":
        return [cell.reproduced]
    return [None if isinstance(entry.value, str) else entry.value for entry in cell.values]
