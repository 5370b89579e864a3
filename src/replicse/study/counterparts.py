"""Which cell of one paper stands for which cell of another: read off the tables that print differences."""

from collections.abc import Iterator

from replicse.study.plan import Cell, Plan
from replicse.study.protocols import AS_DESCRIBED

CellKey = tuple[str, str, str, str]


def cell_key(cell: Cell) -> CellKey:
    """Return item, row, column and metric of a cell."""
    return cell.item.id, cell.row.id, cell.column.id, cell.column.metric


def described(plan: Plan, item: str) -> list[Cell]:
    """Return the cells of an item as its paper describes them; none where the study leaves the item out."""
    return [cell for cell in plan.cells.get(item, ()) if cell.protocol == AS_DESCRIBED]


def counterparts(plan: Plan) -> dict[CellKey, CellKey]:
    """Return, for each cell a paper compares with another paper's, that cell.

    A column with `minus` prints minuend - subtrahend. The subtrahend is named; the minuend is the paper's own
    cell of the same row that is read alike, in the same item where it stands there, else in another one.
    """
    return {cell_key(own): other for _, own, other in differences(plan)}


def differences(plan: Plan) -> Iterator[tuple[Cell, Cell, CellKey]]:
    """Yield every cell that prints a difference, with its minuend and the key of its subtrahend."""
    for item in plan.items.values():
        for cell in described(plan, item.id):
            own = _minuend(plan, cell) if cell.column.minus else None
            if own is not None:
                wanted = cell.column.minus
                row = wanted.get("row", cell.row.id)
                yield cell, own, (wanted["item"], row, wanted["column"], wanted["metric"])


def _minuend(plan: Plan, difference: Cell) -> Cell | None:
    paper = difference.item.paper
    items = [difference.item, *(item for item in plan.items.values() if item.paper == paper)]
    for item in items:
        for cell in described(plan, item.id):
            same = cell.row.id == difference.row.id and cell.read == difference.read
            if same and not cell.column.minus and cell.reported:
                return cell
    return None
