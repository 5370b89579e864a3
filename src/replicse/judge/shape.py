"""The shape of each tabulated column compared with the paper's: judged at every scale, and all that compact judges."""

from collections.abc import Iterator
from dataclasses import dataclass

from replicse.judge.agreement import (
    BestRow,
    RankAgreement,
    RowDifference,
    best_row,
    rank_agreement,
    row_differences,
)
from replicse.judge.table import CellResult, ColumnHead, ItemResult

FEWEST_ROWS = 3  # an order of two rows is one sign


@dataclass(frozen=True)
class ColumnShape:
    """What one column of an item keeps of the order, the best row and the signs that it prints."""

    item: str
    column: str
    label: str
    rank: RankAgreement
    best: BestRow | None
    signs: tuple[RowDifference, ...]


def shapes(item: ItemResult) -> Iterator[ColumnShape]:
    """Yield the agreement of every column that has printed numbers and ours in at least three rows."""
    columns = shape_columns(item)
    labels = [column.label for column in columns]
    for column in columns:
        reported, ours = column_values(item, column)
        rank = rank_agreement(reported, ours) if len(reported) >= FEWEST_ROWS else None
        if rank is not None:
            alone = labels.count(column.label) == 1
            yield ColumnShape(
                item=item.item,
                column=column.id,
                label=column.label if alone else f"{column.label}, {column.metric}",
                rank=rank,
                best=best_row(reported, ours, better=column.better),
                signs=tuple(
                    each
                    for each in row_differences(reported, ours, item.baseline)
                    if each.printed is not None
                ),
            )


def row_effects(item: ItemResult) -> Iterator[tuple[ColumnHead, RowDifference]]:
    """Yield each row's difference to the baseline row, with its column."""
    for column in shape_columns(item):
        for each in row_differences(*column_values(item, column, printed=False), item.baseline):
            yield column, each


def shape_columns(item: ItemResult) -> list[ColumnHead]:
    """Return the columns whose shape is judged: an average stands for its parts, the end for a trajectory."""
    numbers = [column for column in item.columns if is_score(column) and not column.chosen]
    averages = [column for column in numbers if column.average]
    return averages or [column for column in numbers if column.step in (None, -1)]


def is_score(column: ColumnHead) -> bool:
    """Return whether a column's numbers have an order of their own, which texts and differences have not."""
    return column.kind in ("score", "derived")


def column_values(
    item: ItemResult, column: ColumnHead, printed: bool = True
) -> tuple[dict[str, float], dict[str, list[float | None]]]:
    """Return the printed number and our value per seed by row, for rows that have both, or at least ours."""
    reported: dict[str, float] = {}
    ours: dict[str, list[float | None]] = {}
    described = item.described
    for row in item.rows:
        cell = described.get((row.id, column.id, column.metric))
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
