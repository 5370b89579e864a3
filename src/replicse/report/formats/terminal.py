"""An item as text for a terminal: aligned columns, cut into panels where they would be too wide."""

import re
import textwrap
from itertools import zip_longest

from replicse.report.content.cells import ARROW, SYMBOLS, Shown
from replicse.report.content.contents import Page
from replicse.report.content.items import Item
from replicse.report.content.tables import Grid, Heading, Line, Sheet, grid_of, marks_of, panels

GAP = 2
LABEL, HEADER, PROSE, FIELD = 34, 10, 30, 34
WIDTH = 120
PARTS = ("reported", "reproduced", "spread", "delta")


def item_text(item: Item, width: int = 100) -> str:
    """Return an item as plain text whose lines fit `width` columns where the labels and one cell allow it."""
    grid = grid_of(item)
    label = min(LABEL, max((len(_label(line)) for line in grid.lines), default=1))
    stacked = label + sum(column.outer for column in _columns(grid, stacked=False)) > width
    widest = max((column.outer for column in _columns(grid, stacked)), default=1)
    cut = panels(grid, max(1, (width - label) // widest))
    parts = [_title(item, width), *(_panel(panel, label, _columns(panel, stacked)) for panel in cut)]
    parts.append(_notes(item, grid, width))
    return "\n\n".join(part for part in parts if part) + "\n"


def page_text(page: Page | None, width: int = WIDTH) -> str:
    """Return a page of sheets as plain text; nothing for no page."""
    if page is None:
        return ""
    text = [_plain(paragraph, width) for paragraph in page.text]
    return "\n\n".join([page.title, *text, *map(sheet_text, page.sheets)]) + "\n"


def sheet_text(sheet: Sheet) -> str:
    """Return a plain table as aligned text; a long field wraps in its column."""
    columns = list(zip(sheet.header, *sheet.rows, strict=True))
    widths = [max(1, min(FIELD, max(map(len, column)))) for column in columns]
    lines = [sheet.title]
    for number, row in enumerate((sheet.header, *sheet.rows)):
        fields = [textwrap.wrap(text, width) for text, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*fields, fillvalue=""):
            aligned = [
                f"{part:>{width}}" if place in sheet.numeric else f"{part:<{width}}"
                for place, (part, width) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append((" " * GAP).join(aligned).rstrip())
        if number == 0:
            lines.append("-" * (sum(widths) + GAP * (len(widths) - 1)))
    return "\n".join([*lines, *([_plain(sheet.note, WIDTH)] if sheet.note else [])])


def _plain(paragraph: str, width: int) -> str:
    """Return a wrapped paragraph without the asterisks of its emphasis."""
    return textwrap.fill(paragraph.replace("*", ""), width)


class _Column:
    """Aligns the parts of a column's cells."""

    def __init__(self, grid: Grid, place: int, stacked: bool) -> None:
        self.stacked, self.prose = stacked, place in grid.prose
        self.widths = {part: len(grid.longest(part, place)) for part in PARTS}
        overhang = max(0, self.widths["delta"] - self.widths["reported"]) if stacked else 0
        if stacked:
            self.widths["reported"] = max(self.widths["reported"], self.widths["delta"])
            self.widths["reproduced"] = max(self.widths["reproduced"], self.widths["spread"])
        lines = [line for row in grid.lines for line in self.lines(row.cells[place].shown)]
        self.header = textwrap.wrap(grid.header[place], max([HEADER, *map(len, lines)]))
        self.inner = max(map(len, [*lines, *self.header]), default=0)
        # A difference hangs over to the left of its number, so its column needs less of a gap.
        self.gap = max(0, GAP - overhang)
        self.outer = self.inner + self.gap

    def lines(self, shown: Shown) -> list[str]:
        """Return a cell as one line, as two when stacked, as many as it takes where it is a sentence."""
        if self.prose:
            return textwrap.wrap(shown.text, PROSE)
        reported, reproduced, spread, delta = (self._aligned(shown, part) for part in PARTS)
        arrow = f"{ARROW if shown.reproduced else ' '} " if self.widths["reproduced"] else ""
        numbers = _spaced(reported, arrow + reproduced)
        symbol = shown.symbol or " "
        if not self.stacked:
            return [_spaced(numbers, spread, delta, symbol)]
        gap = " " * (len(arrow) + 1 if reported else len(arrow))
        return [_spaced(numbers, symbol), f"{delta:>{len(reported)}}{gap}{spread}  " if shown.detail else ""]

    def place(self, text: str) -> str:
        """Return a text in its place behind the columns to the left."""
        return " " * self.gap + f"{text:{'<' if self.prose else '>'}{self.inner}}"

    def _aligned(self, shown: Shown, part: str) -> str:
        return f"{getattr(shown, part):>{self.widths[part]}}"


def _columns(grid: Grid, stacked: bool) -> list[_Column]:
    return [_Column(grid, place, stacked) for place in range(len(grid.header))]


def _spaced(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _shown(grid: Grid) -> list[Shown]:
    return [cell.shown for line in grid.lines for cell in line.cells]


def _label(line: Line) -> str:
    return f"{'  ' if line.indent else ''}{line.label}{f' [{line.mark}]' if line.mark else ''}"


def _title(item: Item, width: int) -> str:
    lines = [f"{item.id}  {item.title}"]
    facts = [
        item.place,
        *(f"{name}: {value}" for name, value in item.setting.items()),
        f"scale: {item.scale}",
    ]
    lines.append(" · ".join(fact for fact in facts if fact))
    return "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in lines)


def _panel(grid: Grid, label: int, columns: list[_Column]) -> str:
    height = max((len(column.header) for column in columns), default=0)
    header = [
        " " * label + "".join(column.place(_from_end(column.header, row)) for column in columns)
        for row in reversed(range(height))
    ]
    rule = "-" * (label + sum(column.outer for column in columns))
    result = [*header, rule]
    for place, entry in enumerate(grid.body):
        if entry.rule and place:
            result.append(rule)
        result += [entry.text] if isinstance(entry, Heading) else _row(entry, label, columns)
    return "\n".join(line.rstrip() for line in result)


def _from_end(lines: list[str], place: int) -> str:
    return lines[-1 - place] if place < len(lines) else ""


def _row(line: Line, label: int, columns: list[_Column]) -> list[str]:
    labels = textwrap.wrap(_label(line), label, subsequent_indent="  ") or [""]
    if line.indent:
        labels = textwrap.wrap(line.label, label, initial_indent="  ", subsequent_indent="    ")
    cells = [column.lines(cell.shown) for column, cell in zip(columns, line.cells, strict=True)]
    rows = [
        f"{left:<{label}}" + "".join(column.place(part) for column, part in zip(columns, parts, strict=True))
        for left, *parts in zip_longest(labels, *cells, fillvalue="")
    ]
    # A second line on which no cell has anything to say is no line.
    return [row for row in rows if row.strip()] or rows[:1]


def _notes(item: Item, grid: Grid, width: int) -> str:
    used = {shown.verdict for shown in _shown(grid)}
    key = "   ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items() if name in used)
    notes = [key, *(f"[{mark}] {text}" for mark, text in marks_of(grid)), *item.notes]
    if item.deviations:
        notes.append("Deviations:")
    lines = [textwrap.fill(note, width, subsequent_indent="  ") for note in notes if note]
    lines += [
        textwrap.fill(paragraph, width, initial_indent="  ", subsequent_indent="    ")
        for paragraph in _paragraphs(item.deviations)
    ]
    return "\n".join(lines)


def _paragraphs(markdown: str) -> list[str]:
    """Return the paragraphs, list entries and table rows of a text, each on one line."""
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)\s?\S)", markdown)
    return [" ".join(part.split()) for part in parts if part.strip()]
