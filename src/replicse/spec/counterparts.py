"""Corresponding cells of two papers.

They are computed from tables with differences.
"""

from collections.abc import Iterator, Mapping

from replicse.spec.cell_id import CellId
from replicse.spec.columns import Difference
from replicse.spec.papers import Paper
from replicse.spec.tables import Item, Row


def counterparts(papers: Mapping[str, Paper]) -> dict[CellId, CellId]:
    """Return the corresponding cells of papers.

    Args:
        papers: a dict from keys to papers.

    Returns:
        A dict from each cell that a paper compares with another paper to the cell of the other paper.
    """
    return {cell: other for _, cell, other in differences(papers)}


def differences(papers: Mapping[str, Paper]) -> Iterator[tuple[CellId, CellId, CellId]]:
    """Yield every cell with a difference, its minuend and its subtrahend.

    A difference column reports minuend - subtrahend. The column specifies the subtrahend; the minuend is the paper's
    cell of the same row with the same metric path, in the same item if possible, or else in another item.

    Args:
        papers: a dict from keys to papers.
    """
    for paper in papers.values():
        for item in paper.items.values():
            for column in item.columns:
                if not isinstance(column, Difference):
                    continue
                for row in item.rows:
                    minuend = _find_minuend(paper, item, row, item.path(row, column))
                    if minuend is not None:
                        yield item.cell_id(row, column), minuend, column.subtract.cell(row.id)


def _find_minuend(paper: Paper, home: Item, row: Row, path: str) -> CellId | None:
    for item in (home, *paper.items.values()):
        for other in item.rows:
            if other.id != row.id:
                continue
            for column in item.columns:
                cell = item.cell_id(other, column)
                if cell in paper.reported and column.kind == "score" and item.path(other, column) == path:
                    return cell
    return None
