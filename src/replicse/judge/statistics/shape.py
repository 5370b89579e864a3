"""The shape of each column, compared with the paper at every scale."""

from collections.abc import Iterator, Sequence
from functools import partial

from replicse.judge.report.report_types import ColumnShape
from replicse.judge.statistics.agreement import best_row, rank_agreement, row_differences
from replicse.judge.statistics.intervals import mean_and_spread
from replicse.judge.values.readings import seed_numbers
from replicse.judge.verdicts.table import CellResult, ColumnHead, ItemResult
from replicse.registry.suites import unit_of

FEWEST_ROWS = 3  # the order of two rows is only a sign


def shapes(item: ItemResult) -> Iterator[ColumnShape]:
    """Yield the shape of each column with at least three comparable rows."""
    columns = shape_columns(item)
    labels = [column.label for column in columns]
    for column in columns:
        reported, ours = column_values(item, column)
        if len(reported) < FEWEST_ROWS:
            continue
        rank = rank_agreement(reported, ours)
        if rank is None:
            continue
        means = {row: _mean(ours[row]) for row in reported}
        order = partial(sorted, reverse=column.better == "higher")
        differences = row_differences(reported, ours, item.baseline)
        label = column.label
        if labels.count(label) > 1:
            label = f"{label}, {column.metric}"
        yield ColumnShape(
            item=item.item,
            column=column.id,
            label=label,
            printed=reported,
            ours=means,
            order_printed=tuple(order(reported, key=reported.__getitem__)),
            order_ours=tuple(order(means, key=means.__getitem__)),
            rank=rank,
            best=best_row(reported, ours, better=column.better),
            signs=tuple(each for each in differences if each.printed is not None),
        )


def _mean(values: Sequence[float | None]) -> float:
    return mean_and_spread([value for value in values if value is not None])[0]


def shape_columns(item: ItemResult) -> list[ColumnHead]:
    """Return the columns whose shape is compared.

    If the item has averages, only the averages are used. Otherwise, all columns with scores are used, but only the last
    step of a trajectory. Columns of strings, differences, counts and selected hyper-parameters are skipped.
    """
    counts = set()
    for cell in item.cells:
        if unit_of(cell.metric_path) == "count":
            counts.add((cell.column, cell.metric))
    columns = []
    for column in item.columns:
        is_score = column.kind in ("score", "derived") and not column.chosen
        if is_score and (column.id, column.metric) not in counts:
            columns.append(column)
    averages = [column for column in columns if column.average]
    return averages or [column for column in columns if column.step in (None, -1)]


def column_values(
    item: ItemResult, column: ColumnHead, printed: bool = True
) -> tuple[dict[str, float], dict[str, list[float | None]]]:
    """Return the printed numbers of a column and our values.

    By default, rows without a printed number are skipped.

    Args:
        item: the item.
        column: the column.
        printed: whether to skip rows without a printed number. Default: True.

    Returns:
        Dict from row to printed number, and dict from row to our values by seed. Rows without a value of ours are
        skipped.
    """
    reported: dict[str, float] = {}
    ours: dict[str, list[float | None]] = {}
    described = item.described
    for row in item.rows:
        cell = described.get(item.id_at(row.id, column))
        if cell is None or (printed and cell.printed is None):
            continue
        values = seed_values(cell, column)
        if all(value is None for value in values):
            continue
        if cell.printed is not None:
            reported[row.id] = cell.printed
        ours[row.id] = values
    return reported, ours


def seed_values(cell: CellResult, column: ColumnHead) -> list[float | None]:
    """Return the values of a cell by seed.

    If the column shows another statistic than the mean, the list contains only this statistic.
    """
    if column.statistic != "mean":
        return [cell.reproduced]
    return list(seed_numbers(cell))
