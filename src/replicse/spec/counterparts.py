"""Which cell of one paper stands for which cell of another: read off the tables that print differences."""

from collections.abc import Iterator, Mapping

from replicse.spec.columns import Difference
from replicse.spec.papers import Paper, text_key
from replicse.spec.printed import Reported
from replicse.spec.tables import Item, Row

CellKey = tuple[str, str, str, str]  # paper/item, row, column, metric


def printed_in(papers: Mapping[str, Paper], key: CellKey) -> Reported | None:
    """Return what is printed in a cell of a table, a figure or the running text; None where nothing is.

    A row may say that the running text prints the number of a cell.
    """
    paper, _, name = key[0].partition("/")
    item = papers[paper].items.get(name)
    row = next((row for row in item.rows if row.id == key[1]), None) if item else None
    if row and key[2] in row.printed:
        return papers[paper].reported.get(text_key(row.printed[key[2]], key[3]))
    return papers[paper].reported.get((name, *key[1:]))


def counterparts(papers: Mapping[str, Paper]) -> dict[CellKey, CellKey]:
    """Return, for each cell a paper compares with another paper's, that cell; whatever a study asks for."""
    return {cell: other for _, cell, other in differences(papers)}


def differences(papers: Mapping[str, Paper]) -> Iterator[tuple[CellKey, CellKey, CellKey]]:
    """Yield every cell that prints a difference, its minuend and its subtrahend.

    A difference column prints minuend - subtrahend. The subtrahend is named; the minuend is the paper's own
    cell of the same row that is read alike, in the same item where it is there, else in another one.
    """
    for paper in papers.values():
        for item in paper.items.values():
            for column in (column for column in item.columns if isinstance(column, Difference)):
                for row in item.rows:
                    minuend = _minuend(paper, item, row, row.path(column))
                    if minuend is not None:
                        wanted = column.subtract
                        other = (wanted.item, wanted.row or row.id, wanted.column, wanted.metric)
                        yield (item.id, row.id, column.id, column.metric), minuend, other


def _minuend(paper: Paper, home: Item, row: Row, path: str) -> CellKey | None:
    for item in (home, *paper.items.values()):
        for other in (other for other in item.rows if other.id == row.id):
            for column in item.columns:
                printed = (item.name, other.id, column.id, column.metric) in paper.reported
                if printed and column.kind == "score" and other.path(column) == path:
                    return item.id, other.id, column.id, column.metric
    return None
