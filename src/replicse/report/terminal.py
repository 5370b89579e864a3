"""An item as text for a terminal: aligned columns, cut into panels where they would be too wide."""

import textwrap
from itertools import zip_longest

from replicse.report.cells import ARROW, SYMBOLS, Shown
from replicse.report.items import Item
from replicse.report.tables import Grid, Heading, Line, grid_of, marks_of, panels

GAP = "  "
LABEL = 34


def item_text(item: Item, width: int = 100) -> str:
    """Return an item as plain text whose lines fit `width` columns where the labels and one cell allow it."""
    grid = grid_of(item)
    label = _label_width(grid)
    written = _Cells(grid, stacked=False)
    cells = written if label + len(grid.header) * written.outer <= width else _Cells(grid, stacked=True)
    parts = [_title(item, width)]
    parts += [_panel(panel, label, cells) for panel in panels(grid, max(1, (width - label) // cells.outer))]
    parts.append(_notes(item, grid, width))
    return "\n\n".join(part for part in parts if part) + "\n"


class _Cells:
    """Aligns the parts of all cells of a grid alike."""

    def __init__(self, grid: Grid, stacked: bool) -> None:
        self.stacked = stacked
        parts = ("reported", "reproduced", "spread", "delta")
        self.reported, self.reproduced, self.spread, self.delta = (grid.width(part) for part in parts)
        inner = max((len(line) for shown in _shown(grid) for line in self.lines(shown)), default=0)
        words = [len(word) for label in grid.header for word in label.split()]
        self.inner = max([inner, *words])
        self.outer = self.inner + len(GAP)

    def lines(self, shown: Shown) -> list[str]:
        """Return a cell as one line, or as two when stacked."""
        arrow = ARROW if shown.reproduced else " "
        numbers = f"{shown.reported:>{self.reported}}"
        if self.reproduced:
            numbers += f" {arrow} {shown.reproduced:>{self.reproduced}}"
        if self.stacked:
            detail = f"{shown.delta:>{self.reported}} {shown.spread:>{self.reproduced + 2}}"
            return [f"{numbers} {shown.symbol or ' '}", f"{detail}  " if shown.detail else ""]
        detail = "".join(
            f" {getattr(shown, part):>{getattr(self, part)}}"
            for part in ("spread", "delta")
            if getattr(self, part)
        )
        return [f"{numbers}{detail} {shown.symbol or ' '}"]


def _shown(grid: Grid) -> list[Shown]:
    return [cell.shown for line in grid.lines for cell in line.cells]


def _label_width(grid: Grid) -> int:
    widest = max((len(_label(line)) for line in grid.lines), default=0)
    return min(LABEL, widest)


def _label(line: Line) -> str:
    return f"{'  ' if line.indent else ''}{line.label}{f' [{line.mark}]' if line.mark else ''}"


def _title(item: Item, width: int) -> str:
    lines = [f"{item.id}  {item.title}"]
    facts = [item.place, *(f"{name}: {value}" for name, value in item.setting.items()), f"scale: {item.scale}"]
    lines.append(" · ".join(fact for fact in facts if fact))
    return "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in lines)


def _panel(grid: Grid, label: int, cells: _Cells) -> str:
    columns = [textwrap.wrap(text, cells.inner) for text in grid.header]
    height = max((len(lines) for lines in columns), default=0)
    padded = [[""] * (height - len(lines)) + lines for lines in columns]
    header = [
        " " * label + "".join(f"{GAP}{lines[row]:>{cells.inner}}" for lines in padded)
        for row in range(height)
    ]
    rule = "-" * (label + len(columns) * cells.outer)
    result = [*header, rule]
    for place, entry in enumerate(grid.body):
        if entry.rule and place:
            result.append(rule)
        result += [entry.text] if isinstance(entry, Heading) else _row(entry, label, cells)
    return "\n".join(line.rstrip() for line in result)


def _row(line: Line, label: int, cells: _Cells) -> list[str]:
    labels = textwrap.wrap(_label(line), label, subsequent_indent="  ", drop_whitespace=False) or [""]
    columns = [cells.lines(cell.shown) for cell in line.cells]
    height = max(len(lines) for lines in columns) if columns else 1
    rows = []
    for left, *parts in zip_longest(labels, *columns, fillvalue=""):
        rows.append(f"{left:<{label}}" + "".join(f"{GAP}{part:>{cells.inner}}" for part in parts))
    # A second line that holds nothing for any cell is no line.
    return [row for place, row in enumerate(rows) if place == 0 or row.strip() or place >= height]


def _notes(item: Item, grid: Grid, width: int) -> str:
    used = {shown.verdict for shown in _shown(grid)}
    key = "   ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items() if name in used)
    notes = [key, *(f"[{mark}] {text}" for mark, text in marks_of(grid)), *item.notes]
    if item.deviations:
        notes.append("Deviations:")
    lines = [textwrap.fill(note, width, subsequent_indent="  ") for note in notes if note]
    lines += [
        textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ")
        for line in item.deviations.splitlines()
        if line.strip()
    ]
    return "\n".join(lines)
