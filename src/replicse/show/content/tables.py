"""The grid of every rendered table: the paper's rows, groups and rules with cells as text."""

import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from replicse.judge.report.report_types import JudgedItem
from replicse.judge.verdicts.table import QUOTED, CellResult, ColumnHead, ItemResult, RowHead
from replicse.printable import several
from replicse.registry.suites import is_percentage
from replicse.show.content.cell_facts import cell_address, facts, over_seeds
from replicse.show.content.cells import Part, Shown, show
from replicse.show.content.differences import difference_notes
from replicse.show.content.grids import Column, Grid, GridCell, GridLine, Heading, Kind
from replicse.show.content.numbers import effect_text, printed_difference
from replicse.show.content.others import OTHERS, heads_of_others, others_facts, others_note, others_text
from replicse.spec.cell_id import AS_DESCRIBED, CellId

# What a cell is measured by that has a better and a worse, beside percentages.
PLANE = ("alignment", "uniformity")


def grid_of(item: JudgedItem) -> Grid:
    """Return the grid of an item; a trajectory keeps its ends, its figure shows the rest."""
    heads = _heads(item)
    results = item.by_id
    effects = _effects(item)
    notes = _row_notes(item)
    body = _body(item, heads, results)
    lines = [entry for entry in body if isinstance(entry, GridLine)]
    measured_by_others = heads_of_others(item, heads)
    # A column more here is one more in every format.
    columns = [Column("", "label", tuple(_label(line, notes) for line in lines))]
    for head in heads:
        cells = [results.get(item.id_at(line.row.id, head, line.protocol)) for line in lines]
        best = _best(item, head, filter(None, cells))
        shown = (
            _cell(item, line.row, head, cell, best, effects) for line, cell in zip(lines, cells, strict=True)
        )
        kind: Kind = "prose" if head.kind == "text" else "result"
        columns.append(Column(_heading(item, head), kind, tuple(shown), head.id, head.average))
        if head in measured_by_others:
            texts = (others_text(item, line, head) for line in lines)
            cells_of_others = tuple(GridCell(Shown(reproduced=text)) for text in texts)
            columns.append(Column(OTHERS, "prose", cells_of_others, head.id, head.average, others=True))
    seeds = max((cell.n_seeds for cell in item.cells), default=0)
    made = f"{several(seeds, 'seed')} at {item.standing}" if seeds else item.standing
    return Grid(tuple(columns), tuple(body), tuple(notes.values()), f"{item.item} · {made}")


def folded(grid: Grid) -> tuple[Grid, Grid | None]:
    """Return a grid without the columns in which no cell has a number of ours, and these by themselves.

    Where no column has one, or all have, nothing is folded.
    """
    ours = [column for column in grid.results if not column.others]
    empty = [column for column in ours if not any(cell.shown.reproduced for cell in column.cells)]
    if not empty or len(empty) == len(ours):
        return grid, None
    labels = tuple(column for column in grid.columns if column.kind == "label")
    kept = tuple(column for column in grid.columns if column not in empty)
    return replace(grid, columns=kept), replace(grid, columns=(*labels, *empty))


def folded_note(rest: Grid) -> str:
    """Return what is said of the columns that are folded away."""
    names = "; ".join(column.heading for column in rest.results)
    why = Counter(
        cell.shown.verdict for column in rest.results for cell in column.cells if cell.shown.verdict
    )
    reasons = ", ".join(
        f"{several(count, 'cell')}: {reason}" for reason, count in why.items() if reason != QUOTED
    )
    said = f" ({reasons})" if reasons else ""
    return f"Columns without a number of ours: {names}{said}. Their printed numbers are in the CSV."


def remarks(item: JudgedItem) -> tuple[str, ...]:
    """Return an item's differences to its baseline row, its notes, other statistics than the mean, mixed machines."""
    other = {column.label: column.statistic for column in item.columns if column.statistic != "mean"}
    said = [f"{label}: ours is the {over_seeds(name)}." for label, name in other.items()]
    said += [f"Cells that are {item.mixture}: {len(item.mixed)} of {len(item.cells)}."] if item.mixed else []
    return (*filter(None, [item.outdated]), *difference_notes(item), *item.notes, *said, *others_note(item))


def _heads(item: ItemResult) -> tuple[ColumnHead, ...]:
    steps = [column.step for column in item.columns if column.step is not None]
    if item.figure != "trajectory" or not steps:
        return item.columns
    return tuple(column for column in item.columns if column.step in (steps[0], -1, None))


def _heading(item: ItemResult, column: ColumnHead) -> str:
    twice = sum(other.id == column.id for other in item.columns) > 1
    label = f"{column.metric.rpartition('/')[2]}, {column.label}" if twice else column.label
    return f"{label} ↓" if column.better == "lower" and not column.chosen else label


def _row_notes(item: ItemResult) -> dict[str, tuple[str, str]]:
    """Return (mark, text) of footnotes by row: what its folder says of it, and which rows it shares its runs with."""
    names = item.row_names
    texts = {}
    for row in item.rows:
        merged = " and ".join(names[other] for other in row.merged)
        parts = [row.note, f"Shares its runs with {merged} at this scale." if merged else ""]
        texts[row.id] = " ".join(part for part in parts if part)
    noted = [row for row, text in texts.items() if text]
    return {row: (_letter(place), texts[row]) for place, row in enumerate(noted)}


def _label(line: GridLine, notes: Mapping[str, tuple[str, str]]) -> GridCell:
    """Return the name of a line; the first line of a row that has a note carries its mark."""
    mark, _ = notes.get(line.row.id, ("", ""))
    return GridCell(Shown(line.label), indent=line.indent, mark="" if line.indent else mark)


def _letter(place: int) -> str:
    """Return a, b, ... z, aa, ab, ...: the letter of a note."""
    letters = string.ascii_lowercase
    return (letters[place // 26 - 1] if place >= 26 else "") + letters[place % 26]


def _body(
    item: ItemResult, heads: Sequence[ColumnHead], results: Mapping[CellId, CellResult]
) -> list[GridLine | Heading]:
    """Return headings and lines: each row under every protocol that has a cell of it; an empty row keeps one line."""
    protocols = dict.fromkeys([AS_DESCRIBED, *(cell.protocol for cell in item.cells)])
    shown = [name for name in protocols if name not in item.variants]
    body: list[GridLine | Heading] = []
    group = ""
    for row in item.rows:
        if row.group and row.group != group:
            body.append(Heading(row.group, rule=bool(body)))
        ends_group = bool(group) and not row.group
        group = row.group
        there = [name for name in shown if any(item.id_at(row.id, head, name) in results for head in heads)]
        first, *further = there or [AS_DESCRIBED]
        body.append(GridLine(row, first, rule=ends_group))
        body += [GridLine(row, name, indent=True) for name in further]
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
        shown = replace(shown, best=tuple(part for part, number in best.items() if numbers[part] == number))
    cell_id = item.id_of(cell)
    told = facts(item, column, shown, cell, effects.get(cell_id)) + others_facts(item, cell_id)
    return GridCell(shown, told, cell_address(item.name_of(cell_id)))


def _numbers(cell: CellResult) -> dict[Part, float | None]:
    return {"reported": cell.printed, "reproduced": cell.reproduced}


def _best(item: ItemResult, head: ColumnHead, cells: Iterable[CellResult]) -> dict[Part, float]:
    """Return the best printed and the best reproduced number of a column.

    Return an empty dict if the column has no scores, if all numbers are equal, or if the table compares rows with a
    baseline row and nothing is printed, as in a table of mistakes.
    """
    scored = is_percentage(head.metric_path) or head.metric_path.rpartition("/")[2] in PLANE
    if item.kind != "table" or head.kind != "score" or head.chosen or not scored:
        return {}
    cells = list(cells)
    if item.baseline and all(cell.printed is None for cell in cells):
        return {}
    extreme = max if head.better == "higher" else min
    sides: dict[Part, list[float]] = {"reported": [], "reproduced": []}
    for cell in cells:
        for part, number in _numbers(cell).items():
            sides[part] += [] if number is None else [number]
    return {part: extreme(numbers) for part, numbers in sides.items() if len(set(numbers)) > 1}


def _effects(item: JudgedItem) -> dict[CellId, tuple[str, str]]:
    """Return what a row changes against the baseline row, by cell: (name, value) of a fact; none of a single seed."""
    return {
        effect.cell: (
            f"less {effect.base}",
            "; in print ".join(
                filter(
                    None, [f"{effect_text(effect.ours)}, {effect.over}", printed_difference(effect.printed)]
                )
            ),
        )
        for effect in item.effects
        if effect.ours.n > 1
    }
