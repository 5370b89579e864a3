"""Format other people's measurements of a cell."""

from collections.abc import Sequence

from replicse.judge.report.report_types import JudgedItem
from replicse.judge.verdicts.others import SourceResult
from replicse.judge.verdicts.table import ColumnHead
from replicse.printable import number, several
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.grids import WRITTEN_OUT, GridLine
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.columns import TEXT

OTHERS = "others"
RELEASED = "released"  # the protocol of the authors' published checkpoints


def heads_of_others(item: JudgedItem, heads: Sequence[ColumnHead]) -> list[ColumnHead]:
    """Return the columns that get a column `others` to their right.

    These are the averages, or every column if there are few. If a table has many columns and no average, the list is
    empty; `replicse why` lists the measurements of each cell.
    """
    measured = {tuple(name.split("/")[3:5]) for name in item.others}
    found = []
    for head in heads:
        if (head.id, head.metric) in measured or (head.id, "") in measured:
            found.append(head)
    averages = [head for head in found if head.average]
    if averages or len(heads) > WRITTEN_OUT:
        return averages
    return found


def others_text(item: JudgedItem, line: GridLine, head: ColumnHead) -> str:
    """Format the first source of a cell and the number of other sources.

    Return "" if the cell has no source.
    """
    results = item.others.get(str(item.id_at(line.row.id, head)), ())
    if line.protocol not in (AS_DESCRIBED, RELEASED):
        return ""
    # A row has a line for released checkpoints if a cell has this protocol.
    if any(cell.row == line.row.id and cell.protocol == RELEASED for cell in item.cells):
        is_released = line.protocol == RELEASED
        results = tuple(each for each in results if each.released == is_released)
    if not results:
        return ""
    text = source_text(results[0])
    more = len({each.source for each in results}) - 1
    if more:
        text += f" and {more} more"
    return text


def source_text(result: SourceResult) -> str:
    """Format the result of a source: `75.35 (sd 0.60, n 5), sdcse`."""
    parts = [number(result.mean)]
    if result.trained:
        spread = "" if result.sd is None else f"sd {number(result.sd)}, "
        parts[0] += f" ({spread}n {result.n})"
    if result.released:
        parts.append(RELEASED)
    parts.append(result.source)
    if not result.is_printed:
        parts.append("another setting")
    return ", ".join(parts)


def others_facts(item: JudgedItem, cell: CellId) -> tuple[tuple[str, str], ...]:
    """Format the measurements of a cell in the published setting.

    Returns:
        A fact as (name, value), or () if there are no measurements.
    """
    texts, others = [], 0
    for each in item.others.get(str(cell.described), ()):
        if each.is_printed:
            texts.append(f"{source_text(each)} {SYMBOLS.get(each.verdict, '')}".strip())
        else:
            others += 1
    if others:
        texts.append(f"{several(others, 'result')} in other settings")
    return ((OTHERS, "; ".join(texts)),) if texts else ()


def others_note(item: JudgedItem) -> tuple[str, ...]:
    """Count the published numbers of an item that others have measured.

    Returns:
        A note, or () if there are no such numbers.
    """
    printed = measured = 0
    for cell in item.described.values():
        if cell.metric != TEXT and cell.printed is not None:
            printed += 1
            measured += str(item.id_of(cell)) in item.others
    if not measured:
        return ()
    return (
        f"Others measured {measured} of the {several(printed, 'printed number')}: mean, standard deviation and"
        " number of runs, each of one source. `replicse why CELL` lists all sources with their files.",
    )
