"""The cells of a claim: names as a person writes them, and `*` for rows, in full."""

from collections.abc import Sequence

from replicse.errors import BadInput
from replicse.spec.cell_names import ROWS, CellNames
from replicse.spec.claims import Claim, Relation
from replicse.spec.expression import Expression


def resolved(claim: Claim, names: CellNames) -> Claim:
    """Return the claim with full names and with `*` replaced by rows; BadInput names an unknown cell."""
    return claim.changed(lambda relation: [_resolved(claim, relation, names)])


def _resolved(claim: Claim, relation: Relation, names: CellNames) -> Relation:
    full_names = {name: names.full_names(name, claim.paper, claim.location) for name in relation.cells}
    # Rows that the relation names itself are not meant by its `*`.
    named = {full for name, entry in full_names.items() if ROWS not in name for full in entry}

    def full(side: Expression) -> list[Expression]:
        cells = {
            name: [each for each in full_names[name] if ROWS not in name or each not in named]
            for name in side.names
        }
        if side.compares_rows and any(ROWS in name for name in cells):
            cells = dict(zip(cells, _same_rows(list(cells.values()), names), strict=True))
        empty = next((name for name, entry in cells.items() if not entry), None)
        if empty:
            raise BadInput(f'{claim.location}: "{empty}" leaves no row to compare')
        if side.single:
            return [Expression(f"{{{each}}}") for each in cells[side.names[0]]]
        return [side.replaced(lambda name: _in_braces(name, cells[name]))]

    return relation.changed(full)


def _in_braces(name: str, cells: Sequence[str]) -> str:
    """Return cells as an expression names them: those of a `*` as a list."""
    each = ", ".join(f"{{{cell}}}" for cell in cells)
    return f"[{each}]" if ROWS in name else each


def _same_rows(lists: Sequence[Sequence[str]], names: CellNames) -> list[list[str]]:
    """Return the cells of those rows that every list has."""
    rows = [{names.cell(full).row for full in entry} for entry in lists]
    return [[full for full in entry if names.cell(full).row in set.intersection(*rows)] for entry in lists]
