"""Findings of the audit, and the printed numbers that they are made from."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from replicse.compile.study import Cell, Study
from replicse.judge.judgements import Finding
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import is_measured, words
from replicse.spec.printed import Reported, Rounded

QUOTED = "quoted:"
UNROUNDED = "unless computed before rounding"


class PrintedCell(NamedTuple):
    """A cell, what its paper prints there, and the number in it."""

    cell: Cell
    reported: Reported
    number: Rounded

    @property
    def statistic(self) -> tuple[object, ...]:
        """Return which statistic of how many runs it is: two numbers of one encoder may be its worst and best run."""
        return self.reported.statistic, self.reported.q, self.reported.seeds, self.cell.column.over

    @property
    def place(self) -> str:
        """Return where it is in its paper."""
        return self.reported.source.partition(";")[0]


def printed_cell(cell: Cell) -> PrintedCell | None:
    """Return a cell with what is printed there; None where no number is."""
    number = cell.reported.number if cell.reported else None
    return PrintedCell(cell, cell.reported, number) if cell.reported and number else None


def measured(plan: Study, item: str = "") -> Iterator[PrintedCell]:
    """Yield the cells of one item or of all that print a number of their own, in the papers' order.

    Differences to another number and hyper-parameters that a score chose are none.
    """
    for name in [item] if item else plan.items:
        for cell in plan.described(name):
            scored = is_measured(cell.column) and cell.column.kind != "difference"
            if scored and (printed := printed_cell(cell)):
                yield printed


def quotation(reported: Reported) -> str:
    """Return "quoted: whom" of a number that the paper takes from elsewhere, as its note says; else nothing."""
    return reported.note.partition(";")[0] if reported.note.startswith(QUOTED) else ""


def finding(
    plan: Study,
    rule: str,
    cells: Sequence[PrintedCell],
    follows: str,
    certainty: str,
    *,
    printed: str = "",
    place: str = "",
    note: str = "",
    further: tuple[CellId, ...] = (),
    against: Sequence[str] | None = None,
) -> Finding:
    """Return a finding on printed cells: it is at the place of the first one, and is about its number.

    `against` it are the places of the others, unless these are given.
    """
    first, reported = cells[0].cell, cells[0].reported
    names = (*(each.cell.id for each in cells), *further)
    if against is None:
        against = [words(plan.papers, name, first.item.paper) for name in names[1:]]
    return Finding(
        paper=first.item.paper,
        rule=rule,
        place=place or words(plan.papers, first.id, first.item.paper),
        cells=tuple(map(str, names)),
        printed=printed or reported.value,
        follows=follows,
        certainty=certainty,
        note="; ".join(filter(None, [quotation(reported), note])),
        against=tuple(dict.fromkeys(against)),
    )
