"""Findings of the audit, and the printed numbers that they are made from."""

import re
from collections.abc import Iterator, Sequence

from replicse.compile.study import Cell, Study
from replicse.judge.judgements import Finding
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import is_measured, words
from replicse.spec.printed import Reported, Rounded

QUOTED = "quoted:"
FEW_PLACES = 2
PLACE = re.compile(r"\b(table|figure|section|appendix|readme)\b", re.IGNORECASE)
UNROUNDED = "unless computed before rounding"


def measured(plan: Study, item: str = "") -> Iterator[tuple[Cell, Rounded]]:
    """Yield the cells of one item or of all that print a number of their own, in the papers' order.

    Differences to another number and hyper-parameters that a score chose are none.
    """
    for name in [item] if item else plan.items:
        for cell in plan.described(name):
            scored = is_measured(cell.column) and cell.column.kind != "difference"
            number = cell.reported.number if scored and cell.reported else None
            if number is not None:
                yield cell, number


def quotation(reported: Reported) -> str:
    """Return "quoted: whom" of a number that the paper takes from elsewhere, as its note says; else nothing."""
    return reported.note.partition(";")[0] if reported.note.startswith(QUOTED) else ""


def statistic(cell: Cell) -> tuple[object, ...]:
    """Return which statistic of how many runs is printed: two numbers of one encoder may be its worst and best run."""
    return cell.reported.statistic, cell.reported.q, cell.reported.seeds, cell.column.over


def finding(
    plan: Study,
    rule: str,
    cells: Sequence[Cell],
    follows: str,
    certainty: str,
    *,
    printed: str = "",
    place: str = "",
    note: str = "",
    further: tuple[CellId, ...] = (),
) -> Finding:
    """Return a finding on printed cells: it is at the place of the first one, and is about its number."""
    first = cells[0]
    names = (*(cell.id for cell in cells), *further)
    # Most rules say in brackets where a number is printed.
    said = PLACE.search(follows + printed)
    return Finding(
        paper=first.item.paper,
        rule=rule,
        place=place or words(plan.papers, first.id, first.item.paper),
        cells=tuple(map(str, names)),
        printed=printed or first.reported.value,
        follows=follows,
        certainty=certainty,
        note="; ".join(filter(None, [quotation(first.reported), note])),
        against="" if said else _places(plan, names[1:], first.item.paper),
    )


def _places(plan: Study, cells: Sequence[CellId], home: str) -> str:
    """Return the places of some cells in a reader's words, a few of many."""
    places = list(dict.fromkeys(words(plan.papers, cell, home) for cell in cells))
    more = len(places) - FEW_PLACES
    return "; ".join(places[:FEW_PLACES]) + (f" and {more} more" if more > 0 else "")


def source_of(cell: Cell) -> str:
    """Return where a printed number is in its paper."""
    return cell.reported.source.partition(";")[0]
