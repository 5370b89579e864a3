"""Which cell of one paper stands for which cell of another: read off the tables that print differences."""

from collections.abc import Iterator, Mapping

from replicse.study.paper.papers import Column, Item, Paper, Row
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.plan import Cell, Plan

CellKey = tuple[str, str, str, str]


def cell_key(cell: Cell) -> CellKey:
    """Return item, row, column and metric of a cell."""
    return _key(cell.item, cell.row, cell.column)


def described(plan: Plan, item: str) -> list[Cell]:
    """Return the cells of an item as its paper describes them; none where the study leaves the item out."""
    return [cell for cell in plan.cells.get(item, ()) if cell.protocol == AS_DESCRIBED]


def counterparts(papers: Mapping[str, Paper]) -> dict[CellKey, CellKey]:
    """Return, for each cell a paper compares with another paper's, that cell; whatever a study asks for."""
    return {own: other for _, own, other in differences(papers)}


def differences(papers: Mapping[str, Paper]) -> Iterator[tuple[CellKey, CellKey, CellKey]]:
    """Yield every cell that prints a difference, its minuend and its subtrahend.

    A column with `minus` prints minuend - subtrahend. The subtrahend is named; the minuend is the paper's own
    cell of the same row that is read alike, in the same item where it stands there, else in another one.
    """
    for paper in papers.values():
        for item in paper.items.values():
            for row, column in _cells(item):
                own = _minuend(paper, item, row, column) if column.minus else None
                if own is not None:
                    wanted = column.minus
                    other = (wanted["item"], wanted.get("row", row.id), wanted["column"], wanted["metric"])
                    yield _key(item, row, column), own, other


def _minuend(paper: Paper, home: Item, row: Row, column: Column) -> CellKey | None:
    for item in (home, *paper.items.values()):
        for other, own in _cells(item):
            printed = (item.name, other.id, own.id, own.metric) in paper.reported
            alike = other.id == row.id and _read(other, own) == _read(row, column)
            if printed and alike and not own.minus:
                return _key(item, other, own)
    return None


def _cells(item: Item) -> Iterator[tuple[Row, Column]]:
    return ((row, column) for row in item.rows for column in item.columns)


def _read(row: Row, column: Column) -> str:
    return row.read.get(column.id, column.read)


def _key(item: Item, row: Row, column: Column) -> CellKey:
    return item.id, row.id, column.id, column.metric
