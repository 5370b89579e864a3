"""Resolve the names of cells in a claim to full names, and `*` to rows."""

from collections.abc import Sequence

from replicse.errors import BadInput
from replicse.spec.cell_names import ROWS, CellNames
from replicse.spec.claims import Claim, Relation
from replicse.spec.expression import Expression


def resolve_claim(claim: Claim, names: CellNames) -> Claim:
    """Return a claim with full names of cells, and `*` replaced by rows.

    Args:
        claim: the claim.
        names: the names of the cells of all papers.

    Raises:
        BadInput: if a cell does not exist.
    """
    return claim.replace_relations(lambda relation: [_resolve_relation(claim, relation, names)])


def _resolve_relation(claim: Claim, relation: Relation, names: CellNames) -> Relation:
    full_names = {name: names.full_names(name, claim.paper, claim.location) for name in relation.cells}
    # `*` does not include rows that the relation names.
    named: set[str] = set()
    for name, entry in full_names.items():
        if ROWS not in name:
            named.update(entry)

    def full(side: Expression) -> list[Expression]:
        cells = {}
        for name in side.names:
            cells[name] = [each for each in full_names[name] if ROWS not in name or each not in named]
        if side.compares_rows and any(ROWS in name for name in cells):
            cells = dict(zip(cells, _same_rows(list(cells.values()), names), strict=True))
        empty = next((name for name, entry in cells.items() if not entry), None)
        if empty:
            raise BadInput(f'{claim.location}: "{empty}" does not leave a row to compare')
        if side.single:
            return [Expression(f"{{{each}}}") for each in cells[side.names[0]]]
        return [side.replace_names(lambda name: _in_braces(name, cells[name]))]

    return relation.replace_expressions(full)


def _in_braces(name: str, cells: Sequence[str]) -> str:
    """Return cells as in an expression; the cells of a `*` as a list."""
    each = ", ".join(f"{{{cell}}}" for cell in cells)
    return f"[{each}]" if ROWS in name else each


def _same_rows(lists: Sequence[Sequence[str]], names: CellNames) -> list[list[str]]:
    """Return the cells of the rows in all lists."""
    rows = []
    for cells in lists:
        rows.append({names.cell(full).row for full in cells})
    common = set.intersection(*rows)
    kept = []
    for cells in lists:
        kept.append([full for full in cells if names.cell(full).row in common])
    return kept
