"""Build the grid of an item: rows, groups and formatted cells."""

import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from replicse.judge.report.report_types import JudgedItem
from replicse.judge.verdicts.table import QUOTED, CellResult, ColumnHead, ItemResult, RowHead
from replicse.printable import SHOWN, several, some
from replicse.registry.suites import is_percentage
from replicse.show.content.cell_facts import cell_address, facts, over_seeds
from replicse.show.content.cells import Part, Shown, show
from replicse.show.content.differences import difference_notes
from replicse.show.content.grids import Column, Grid, GridCell, GridLine, Heading, Kind
from replicse.show.content.numbers import effect_text, printed_difference
from replicse.show.content.others import OTHERS, heads_of_others, others_facts, others_note, others_text
from replicse.spec.cell_id import AS_DESCRIBED, CellId

# Metrics besides percentages whose best value is shown in bold.
PLANE = ("alignment", "uniformity")


def grid_of(item: JudgedItem) -> Grid:
    """Build the grid of an item.

    A trajectory keeps only the first and the last checkpoint, because the figure shows the others.

    Args:
        item: The judged item.

    Returns:
        A grid with the rows of the paper, their protocols, and footnotes.
    """
    heads = _heads(item)
    results = item.by_id
    effects = _effects(item)
    notes = _row_notes(item)
    body = _body(item, heads, results)
    lines = [entry for entry in body if isinstance(entry, GridLine)]
    measured_by_others = heads_of_others(item, heads)
    # A column that is added here appears in every format.
    columns = [_label_column(lines, notes)]
    for head in heads:
        cells = [results.get(item.id_at(line.row.id, head, line.protocol)) for line in lines]
        best = _best(item, head, filter(None, cells))
        shown = []
        for line, cell in zip(lines, cells, strict=True):
            shown.append(_cell(item, line.row, head, cell, best, effects))
        kind: Kind = "prose" if head.kind == "text" else "result"
        columns.append(Column(_heading(item, head), kind, tuple(shown), head.id, head.average))
        if head in measured_by_others:
            columns.append(_column_of_others(item, head, lines))
    seeds = max((cell.n_seeds for cell in item.cells), default=0)
    caption = f"{item.item} · {item.standing}"
    if seeds:
        caption = f"{item.item} · {several(seeds, 'seed')} at {item.standing}"
    return Grid(tuple(columns), tuple(body), tuple(notes.values()), caption)


def _column_of_others(item: JudgedItem, head: ColumnHead, lines: Sequence[GridLine]) -> Column:
    cells = []
    for line in lines:
        cells.append(GridCell(Shown(reproduced=others_text(item, line, head))))
    return Column(OTHERS, "prose", tuple(cells), head.id, head.average, others=True)


def folded(grid: Grid) -> tuple[Grid, Grid | None]:
    """Split off the columns that contain no reproduced number.

    Returns:
        The grid without these columns, and a grid with the labels and these columns. If no column or every column has a
        reproduced number, the grid is not split and the second value is None.
    """
    ours, empty = 0, []
    for column in grid.results:
        if not column.others:
            ours += 1
            if not _has_number(column):
                empty.append(column)
    if not empty or len(empty) == ours:
        return grid, None
    labels, kept = [], []
    for column in grid.columns:
        if column.kind == "label":
            labels.append(column)
        if column not in empty:
            kept.append(column)
    return replace(grid, columns=tuple(kept)), replace(grid, columns=(*labels, *empty))


def _has_number(column: Column) -> bool:
    return any(cell.shown.reproduced for cell in column.cells)


def folded_note(rest: Grid) -> str:
    """List the columns without a reproduced number and the reasons."""
    names = "; ".join(column.heading for column in rest.results)
    counts: Counter[str] = Counter()
    for column in rest.results:
        counts.update(cell.shown.verdict for cell in column.cells)
    reasons = []
    for reason, count in counts.items():
        if reason not in ("", QUOTED):
            reasons.append(f"{several(count, 'cell')}: {reason}")
    if reasons:
        names += f" ({', '.join(reasons)})"
    return f"Columns without a reproduced number: {names}. Their printed numbers are in the CSV file."


def remarks(item: JudgedItem) -> tuple[str, ...]:
    """List the notes below the table of an item.

    Args:
        item: The judged item.

    Returns:
        Sentences about outdated results, differences to the baseline row, the paper, statistics other than the mean,
        mixed machines, and measurements by others.
    """
    notes = [item.outdated] if item.outdated else []
    notes += difference_notes(item)
    notes += item.notes
    statistics = {}
    for column in item.columns:
        if column.statistic != "mean":
            statistics[column.label] = column.statistic
    for label, name in statistics.items():
        notes.append(f"{label}: ours is the {over_seeds(name)}.")
    if item.mixed:
        notes.append(f"Cells that are {item.mixture}: {len(item.mixed)} of {len(item.cells)}.")
    notes += others_note(item)
    return tuple(notes)


def _heads(item: ItemResult) -> tuple[ColumnHead, ...]:
    if item.figure != "trajectory":
        return item.columns
    steps = [column.step for column in item.columns if column.step is not None]
    if not steps:
        return item.columns
    return tuple(column for column in item.columns if column.step in (steps[0], -1, None))


def _heading(item: ItemResult, column: ColumnHead) -> str:
    twice = sum(other.id == column.id for other in item.columns) > 1
    label = column.label
    if twice:
        label = f"{column.metric.rpartition('/')[2]}, {label}"
    if column.better == "lower" and not column.chosen:
        label += " ↓"
    return label


def _row_notes(item: ItemResult) -> dict[str, tuple[str, str]]:
    """Return the footnotes of rows: the paper's note and shared runs.

    Returns:
        A dict from row id to (mark, text).
    """
    names = item.row_names
    texts = {}
    for row in item.rows:
        parts = [row.note] if row.note else []
        if row.merged:
            others = [names[other] for other in item.rows_with_same_runs(row)]
            # If there are many equal rows, complete lists would grow quadratically.
            merged = " and ".join(others) if len(others) <= SHOWN else some(others)
            parts.append(f"Same runs as {merged} at this scale.")
        if parts:
            texts[row.id] = " ".join(parts)
    notes = {}
    for place, (row_id, text) in enumerate(texts.items()):
        notes[row_id] = _letter(place), text
    return notes


def _label_column(lines: Iterable[GridLine], notes: Mapping[str, tuple[str, str]]) -> Column:
    """Return the column of labels; the first line of a row has the mark."""
    cells = []
    for line in lines:
        mark = ""
        if line.row.id in notes and not line.indent:
            mark, _ = notes[line.row.id]
        cells.append(GridCell(Shown(line.label), indent=line.indent, mark=mark))
    return Column("", "label", tuple(cells))


def _letter(place: int) -> str:
    """Return the mark of the n-th footnote: a, ... z, aa, ... zz, aaa, ..."""
    before, letter = divmod(place, 26)
    return (_letter(before - 1) if before else "") + string.ascii_lowercase[letter]


def _body(
    item: ItemResult, heads: Sequence[ColumnHead], results: Mapping[CellId, CellResult]
) -> list[GridLine | Heading]:
    """Return headings and lines.

    A row has a line for each protocol with a cell; a row without cells has one line.
    """
    shown = []
    for name in dict.fromkeys([AS_DESCRIBED, *(cell.protocol for cell in item.cells)]):
        if name not in item.variants:
            shown.append(name)
    body: list[GridLine | Heading] = []
    group = ""
    for row in item.rows:
        if row.group and row.group != group:
            body.append(Heading(row.group, rule=bool(body)))
        ends_group = bool(group) and not row.group
        group = row.group
        with_cells = []
        for name in shown:
            if any(item.id_at(row.id, head, name) in results for head in heads):
                with_cells.append(name)
        first, *further = with_cells or [AS_DESCRIBED]
        body.append(GridLine(row, first, rule=ends_group))
        for name in further:
            body.append(GridLine(row, name, indent=True))
    return body


def _cell(
    item: JudgedItem,
    row: RowHead,
    column: ColumnHead,
    cell: CellResult | None,
    best: Mapping[Part, float],
    effects: Mapping[CellId, tuple[str, str]],
) -> GridCell:
    shown = show(cell, scale="" if item.comparable else item.scale, quoted=row.quoted)
    if item.is_embedded:
        shown = replace(shown, delta="")
    if not cell or not shown.text:
        return GridCell(shown)
    if best:
        numbers = _numbers(cell)
        parts = [part for part, number in best.items() if numbers[part] == number]
        shown = replace(shown, best=tuple(parts))
    cell_id = item.id_of(cell)
    facts_of_cell = facts(item, column, shown, cell, effects.get(cell_id)) + others_facts(item, cell_id)
    return GridCell(shown, facts_of_cell, cell_address(item.name_of(cell_id)))


def _numbers(cell: CellResult) -> dict[Part, float | None]:
    return {"reported": cell.printed, "reproduced": cell.reproduced}


def _best(item: ItemResult, head: ColumnHead, cells: Iterable[CellResult]) -> dict[Part, float]:
    """Return the best printed and the best reproduced number of a column.

    The dict is empty if the column has no scores, if all numbers are equal, or if the table has a baseline row but no
    printed numbers, as in a table of mistakes.
    """
    scored = is_percentage(head.metric_path) or head.metric_path.rpartition("/")[2] in PLANE
    if item.kind != "table" or head.kind != "score" or head.chosen or not scored:
        return {}
    cells = list(cells)
    if item.baseline and all(cell.printed is None for cell in cells):
        return {}
    sides: dict[Part, list[float]] = {"reported": [], "reproduced": []}
    for cell in cells:
        for part, number in _numbers(cell).items():
            if number is not None:
                sides[part].append(number)
    best = {}
    for part, numbers in sides.items():
        if len(set(numbers)) > 1:
            best[part] = max(numbers) if head.better == "higher" else min(numbers)
    return best


def _effects(item: JudgedItem) -> dict[CellId, tuple[str, str]]:
    """Return the differences to the baseline row as facts, by cell.

    Differences of a single seed are skipped.
    """
    facts_by_cell = {}
    for effect in item.effects:
        if effect.ours.n > 1:
            text = f"{effect_text(effect.ours)}, {effect.over}"
            if effect.printed is not None:
                text += f"; in print {printed_difference(effect.printed)}"
            facts_by_cell[effect.cell] = f"less {effect.base}", text
    return facts_by_cell
