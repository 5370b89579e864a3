"""Which cell of one paper stands for which cell of another: read off the tables that print differences."""

from collections.abc import Iterator, Mapping

from replicse.spec.cell_id import CellId
from replicse.spec.columns import Difference
from replicse.spec.papers import Paper
from replicse.spec.tables import Item, Row


def counterparts(papers: Mapping[str, Paper]) -> dict[CellId, CellId]:
    """Return, for each cell a paper compares with another paper's, that cell; whatever a study asks for."""
    return {cell: other for _, cell, other in differences(papers)}


def differences(papers: Mapping[str, Paper]) -> Iterator[tuple[CellId, CellId, CellId]]:
    """Yield every cell that prints a difference, its minuend and its subtrahend.

    A difference column prints minuend - subtrahend. The subtrahend is named; the minuend is the paper's own
    cell of the same row that is read alike, in the same item where it is there, else in another one.
    """
    for paper in papers.values():
        for item in paper.items.values():
            for column in (column for column in item.columns if isinstance(column, Difference)):
                for row in item.rows:
                    minuend = _minuend(paper, item, row, item.path(row, column))
                    if minuend is not None:
                        yield item.cell_id(row, column), minuend, column.subtract.cell(row.id)


def _minuend(paper: Paper, home: Item, row: Row, path: str) -> CellId | None:
    for item in (home, *paper.items.values()):
        for other in (other for other in item.rows if other.id == row.id):
            for column in item.columns:
                cell = item.cell_id(other, column)
                if cell in paper.reported and column.kind == "score" and item.path(other, column) == path:
                    return cell
    return None
