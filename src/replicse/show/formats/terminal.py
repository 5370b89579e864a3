"""Render items, pages and plain tables for a terminal with rich, in panels if they are too wide."""

import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO

from rich import box
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from replicse.judge.report.report_types import JudgedItem
from replicse.printable import several
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.contents import Page
from replicse.show.content.differences import difference_notes
from replicse.show.content.grids import (
    Column,
    Grid,
    GridCell,
    GridLine,
    Heading,
    own_rows_first,
    panels,
    with_numbers,
)
from replicse.show.content.sheets import Sheet
from replicse.show.content.tables import folded, folded_note, grid_of, remarks

LABEL, HEADER, PROSE, OTHERS, WIDTH = 34, 14, 30, 22, 120
FAILURES = 3  # reasons that are shown below a table
FEW_DIFFERENCES = 4  # of more the note is left out first if an item does not fit a screen
PARTS = ("reported", "reproduced", "spread", "delta")
STYLES = {
    "within seed spread": "green",
    "higher": "yellow",
    "lower": "yellow",
    "equal": "green",
    "not equal": "yellow",
    "failed": "red",
    "not run": "dim",
    "not comparable": "dim",
    "data absent": "dim",
    "quoted": "dim",
}


def item_text(item: JudgedItem, width: int = 100, colour: bool = False, columns: Sequence[str] = ()) -> str:
    """Render an item, averages first.

    Args:
        item: The item.
        width: Width in characters; lines are longer only if the labels and one cell need more.
        colour: Whether to use colours.
        columns: Ids of the columns to show; all if empty.
    """
    whole = own_rows_first(grid_of(item))
    grid, _ = folded(whole)
    below = Group(*(part for _, part in _below(item, whole)))
    spaced: list[RenderableType] = [_title(item), *_panels(_chosen(grid, columns), width), below]
    return "\n".join(rendered(part, width, colour) for part in spaced)


def item_screen(
    item: JudgedItem, width: int, lines: int, colour: bool = False, columns: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Render as much of an item as fits on a screen: its first columns and rows.

    If not all rows fit, rows without a reproduced number are omitted first.

    Args:
        item: The item.
        width: Width of the screen in characters.
        lines: Height of the screen in lines.
        colour: Whether to use colours.
        columns: Ids of the columns to show; all if empty.

    Returns:
        The text, and descriptions of what is omitted, such as "3 rows".
    """
    whole = own_rows_first(grid_of(item))
    every, _ = folded(whole)
    grid = _chosen(every, columns)
    title, below = rendered(_title(item), width, colour), _below(item, whole)
    texts = [rendered(part, width, colour) for _, part in below]
    needed = [text for (what, _), text in zip(below, texts, strict=True) if not what]
    room = lines - sum(text.count("\n") for text in (title, *needed)) - 1 - bool(needed)
    tables = _panels(grid, width)
    shown = len(tables[0].columns) - (len(grid.columns) - len(grid.results))

    def of_rows(grid: Grid, count: int) -> str:
        cut = replace(panels(grid, shown)[0], body=grid.body[:count])
        return rendered(_panel(cut, stacked=_width(_panel(cut, stacked=False)) > width), width, colour)

    all_rows = len(grid.lines)
    if of_rows(grid, len(grid.body)).count("\n") > room:
        grid = with_numbers(grid)
    counts = range(len(grid.body) + 1)
    fitting = bisect_right(counts, room, key=lambda count: of_rows(grid, count).count("\n")) - 1
    table = of_rows(grid, fitting)
    room -= table.count("\n") + (not needed)
    left = Counter(
        {
            "row": all_rows - sum(isinstance(entry, GridLine) for entry in grid.body[:fitting]),
            "column": len(every.results) - shown,
        }
    )
    kept = []
    for (what, _), text in zip(below, texts, strict=True):
        room -= text.count("\n") if what else 0
        if what and room < 0:
            left[what] += 1
        else:
            kept.append(text)
    texts = [title, table, *(["".join(kept)] if kept else [])]
    return "\n".join(texts), [f"{several(count, what)}" for what, count in left.items() if count]


def _below(item: JudgedItem, whole: Grid) -> list[tuple[str, RenderableType]]:
    """Return the parts below the table of an item, each with its name, or "" for a part that is always shown."""
    grid, rest = folded(whole)
    used = {cell.shown.word for column in grid.columns for cell in column.cells}
    key = "   ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items() if name in used)
    differences = difference_notes(item)
    few = len(item.effects) <= FEW_DIFFERENCES
    notes = [
        *(f"[{mark}] {text}" for mark, text in grid.footnotes),
        *(note for note in remarks(item) if not few or note not in differences),
        *([folded_note(rest)] if rest else []),
    ]
    parts: list[tuple[str, RenderableType]] = [("", Text(line)) for line in _failures(whole)]
    if key:
        parts.insert(0, ("", Text(key)))
    if few:
        parts += [("", Text(note)) for note in differences]
    parts += [("note", _prose(note)) for note in notes]
    if item.deviations:
        parts.append(("list of deviations", _deviations(item.deviations)))
    return parts


def _title(item: JudgedItem) -> Text:
    facts = [item.place, *(f"{name}: {value}" for name, value in item.setting.items()), item.standing]
    title = Text("\n".join([f"{item.item}  {item.title}", " · ".join(fact for fact in facts if fact)]))
    title.highlight_words([item.item, item.standing], "bold")
    return title


def _chosen(grid: Grid, names: Sequence[str]) -> Grid:
    """Select columns of a grid by id, in the given order; without ids all, averages first."""
    results = [column for column in grid.results if not names or column.id in names]
    results.sort(key=lambda column: names.index(column.id) if names else not column.average)
    labels = (column for column in grid.columns if column.kind == "label")
    return replace(grid, columns=(*labels, *results))


def _failures(grid: Grid) -> Iterator[str]:
    """Yield the first reasons why cells failed, and the command that shows the others."""
    failed = [cell for column in grid.columns for cell in column.cells if cell.shown.word == "failed"]
    reasons = list(dict.fromkeys(dict(cell.facts)["because"] for cell in failed))
    yield from (f"failed: {reason}" for reason in reasons[:FAILURES])
    if len(reasons) > FAILURES:
        yield f"{len(reasons) - FAILURES} more reasons: replicse why CELL"


def page_text(page: Page, width: int = WIDTH, colour: bool = False) -> str:
    """Render a page of sheets."""
    said = [Text(page.headline)] if page.headline else []
    parts = [
        Text(page.title, "bold"),
        *said,
        *map(_prose, page.text),
        *(_sheet(sheet, width) for sheet in page.sheets),
    ]
    return "\n".join(rendered(part, width, colour) for part in parts)


def rendered(part: RenderableType, width: int, colour: bool = False) -> str:
    """Render with rich in `width` columns, with the same text on every machine."""
    stream = StringIO()
    console = _console(width, stream, colour)
    console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def _console(width: int, stream: StringIO | None = None, colour: bool = False) -> Console:
    # Ignore the environment and the size of the window.
    return Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def _deviations(markdown: str) -> RenderableType:
    return Group(Text("Deviations:"), Padding(_prose(markdown), (0, 2)))


def _prose(markdown: str) -> RenderableType:
    from rich.markdown import Markdown  # takes as long to import as the rest of rich

    return Markdown(markdown, hyperlinks=False)


def _table() -> Table:
    return Table(
        box=box.HORIZONTALS, show_edge=False, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False,
        title_justify="left", title_style="",
    )  # fmt: skip


def _sheet(sheet: Sheet, width: int) -> RenderableType:
    """Render a sheet, with narrow gaps between columns if its words need the space."""
    texts = list(zip(sheet.header, *sheet.rows, strict=True))
    table = _table()
    words, gap = list(map(_longest_word, texts)), 2
    if sum(words) + gap * (len(words) - 1) > width:
        table.padding, gap = (0, 0, 0, 0), 1
    for place, room in enumerate(_fitted(texts, words, width - gap * (len(words) - 1))):
        justify: JustifyMethod = "right" if place in sheet.numeric else "left"
        table.add_column(Text(sheet.header[place]), justify=justify, overflow="fold", width=room)
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    title = [Text(sheet.title, "bold")] if sheet.title else []
    return Group(*title, table, *([_prose(sheet.note)] if sheet.note else []))


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def _fitted(columns: Sequence[Sequence[str]], words: Sequence[int], width: int) -> list[int]:
    """Reduce the widths of columns, the widest first; a word is split only if every column is narrow."""
    widths = [max(map(len, texts)) for texts in columns]
    while sum(widths) > width and max(widths) > 1:
        place = max(range(len(widths)), key=lambda place: (widths[place] > words[place], widths[place]))
        widths[place] -= 1
    return widths


def _panels(grid: Grid, width: int) -> list[Table]:
    """Render a grid written out if it fits, otherwise stacked in as few panels as possible."""
    written = _panel(grid, stacked=False)
    if _width(written) <= width:
        return [written]
    for most in range(len(grid.results), 0, -1):
        tables = [_panel(part, stacked=True) for part in panels(grid, most)]
        if most == 1 or max(map(_width, tables)) <= width:
            break
    for table in tables[1:]:
        table.title = Text(grid.caption)
    return tables


def _width(table: Table) -> int:
    return _console(10 * WIDTH).measure(table).maximum


def _panel(grid: Grid, stacked: bool) -> Table:
    table = _table()
    for column in grid.columns:
        table.add_column(
            Text(textwrap.fill(column.heading, PROSE if column.kind == "prose" else HEADER)),
            justify="right" if column.kind == "result" else "left",
            vertical="top",
            no_wrap=True,
        )
    for entry, cells in grid.rows:
        if entry.rule:
            table.add_section()
        if isinstance(entry, Heading):
            table.add_row(Text(textwrap.fill(entry.text, LABEL), "italic"))
        else:
            table.add_row(*(_cell(column, cell, stacked) for column, cell in cells))
    return table


def _cell(column: Column, cell: GridCell, stacked: bool) -> Text:
    """Render a cell; the parts of a result are aligned with those of the other cells in the column."""
    shown = cell.shown
    if column.kind == "label":
        indent = "  " * cell.indent
        label = f"{shown.text}{f' [{cell.mark}]' if cell.mark else ''}"
        return Text(textwrap.fill(label, LABEL, initial_indent=indent, subsequent_indent=f"{indent}  "))
    if column.kind == "prose":
        text = Text(textwrap.fill(shown.text, OTHERS if column.others else PROSE))
    else:
        widths = {part: len(column.longest(part, stacked)) for part in PARTS}
        if stacked:
            widths["reported"] = widths["delta"] = max(widths["reported"], widths["delta"])
            widths["reproduced"] = widths["spread"] = max(widths["reproduced"], widths["spread"])
        reported, reproduced, spread, delta = (f"{getattr(shown, part):>{widths[part]}}" for part in PARTS)
        numbers = f"{reported} {shown.arrow or ' '} {reproduced}"
        lines = [f"{numbers} {spread} {delta} {shown.symbol or ' '}"]
        if stacked:
            wide = [f"{text}  " for text in shown.wide]
            lines = [f"{numbers} {shown.symbol or ' '}", *(wide or [f"{delta}   {spread}  "])]
        text = Text("\n".join(line for line in lines if line.strip()))
    text.highlight_words([shown.symbol] if shown.symbol else [], STYLES.get(shown.word, ""))
    if shown.best:
        spans = {"reported": (0, len(reported)), "reproduced": (len(reported) + 3, len(numbers))}
        for part in shown.best:
            text.stylize("bold", *spans[part])
    return text
