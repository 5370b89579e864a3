"""Findings of the audit, built from printed numbers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from replicse.compile.cell import Cell
from replicse.compile.study import Study
from replicse.judge.report.judgements import Finding
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import is_measured, words
from replicse.spec.printed import Reported, Rounded

QUOTED = "quoted:"
UNROUNDED = "unless computed before rounding"


class PrintedCell(NamedTuple):
    """A cell with the printed value as a string and the parsed number."""

    cell: Cell
    reported: Reported
    number: Rounded

    @property
    def statistic(self) -> tuple[object, ...]:
        """Return the statistic and the number of runs.

        A paper may print both the worst and the best run of an encoder.
        """
        return self.reported.statistic, self.reported.q, self.reported.seeds, self.cell.column.over

    @property
    def place(self) -> str:
        """Return the place in the paper, such as "Table 5"."""
        return self.reported.source.partition(";")[0]


def printed_cell(cell: Cell) -> PrintedCell | None:
    """Return a cell with the printed number; None if no number is printed."""
    if cell.reported is None or cell.reported.number is None:
        return None
    return PrintedCell(cell, cell.reported, cell.reported.number)


def measured_cells(study: Study, item: str = "") -> Iterator[PrintedCell]:
    """Yield the cells with a printed measurement, in the papers' order.

    Differences to another number are skipped, and hyper-parameters that were selected by a score.

    Args:
        study: the study.
        item: the id `paper/item`. Default: all items.
    """
    for name in [item] if item else study.items:
        for cell in study.described(name):
            if is_measured(cell.column) and cell.column.kind != "difference":
                printed = printed_cell(cell)
                if printed:
                    yield printed


def quotation(reported: Reported) -> str:
    """Return "quoted: SOURCE" from the note of a quoted number.

    Returns an empty string for other numbers.
    """
    return reported.note.partition(";")[0] if reported.note.startswith(QUOTED) else ""


def finding(
    study: Study,
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
    """Build a finding on printed cells.

    By default, the first cell is wrong, and all other cells contradict it.

    Args:
        study: the study.
        rule: the name of the rule.
        cells: list of the cells involved, the wrong cell first.
        follows: the correct text.
        certainty: `CERTAIN`, or a possible explanation.
        printed: the printed text. Default: the number of the first cell.
        place: the place of the mistake. Default: the place of the first cell.
        note: a note, added to a quotation. Default: an empty string.
        further: further cells that are involved. Default: no cells.
        against: the places of the numbers that contradict the first cell. Default: the places of all other cells.
    """
    first, reported = cells[0].cell, cells[0].reported
    names = (*(each.cell.id for each in cells), *further)
    if against is None:
        against = [words(study.papers, name, first.item.paper) for name in names[1:]]
    return Finding(
        paper=first.item.paper,
        rule=rule,
        place=place or words(study.papers, first.id, first.item.paper),
        cells=tuple(map(str, names)),
        printed=printed or reported.value,
        follows=follows,
        certainty=certainty,
        note="; ".join(filter(None, [quotation(reported), note])),
        against=tuple(dict.fromkeys(against)),
    )
