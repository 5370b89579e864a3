"""Render items, pages and plain tables for a terminal with rich."""

import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
    Heading,
    own_rows_first,
    panels,
    with_numbers,
)
from replicse.show.content.sheets import Sheet
from replicse.show.content.tables import folded, folded_note, grid_of, remarks

LABEL, HEADER, PROSE, OTHERS, WIDTH = 34, 14, 30, 22, 120
FAILURES = 3  # maximum number of reasons below a table
FEW_DIFFERENCES = 4  # a note on more differences can be omitted if an item is too long for the screen
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
        width: Width in characters; lines are longer only if the labels and a cell do not fit. Default: 100.
        colour: Whether to use colours. Default: False.
        columns: Ids of the columns to show. Default: all columns.
    """
    whole = own_rows_first(grid_of(item))
    grid, _ = folded(whole)
    below = [part for _, part in _below(item, whole)]
    parts: list[RenderableType] = [_title(item), *_panels(_chosen(grid, columns), width), Group(*below)]
    return _join(parts, width, colour)


def _join(parts: Iterable[RenderableType], width: int, colour: bool) -> str:
    return "\n".join(rendered(part, width, colour) for part in parts)


def item_screen(
    item: JudgedItem, width: int, lines: int, colour: bool = False, columns: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Render the first rows and columns of an item that fit on a screen.

    If not all rows fit, rows without a reproduced number are omitted first.

    Args:
        item: The item.
        width: Width of the screen in characters.
        lines: Height of the screen in lines.
        colour: Whether to use colours. Default: False.
        columns: Ids of the columns to show. Default: all columns.

    Returns:
        The text, and a list of omitted parts, such as "3 rows".
    """
    whole = own_rows_first(grid_of(item))
    every, _ = folded(whole)
    grid = _chosen(every, columns)
    title, below = rendered(_title(item), width, colour), _below(item, whole)
    texts = [rendered(part, width, colour) for _, part in below]
    needed = "".join(text for (name, _), text in zip(below, texts, strict=True) if not name)
    room = lines - title.count("\n") - needed.count("\n") - 1 - bool(needed)
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
    shown_rows = len(replace(grid, body=grid.body[:fitting]).lines)
    omitted = Counter(row=all_rows - shown_rows, column=len(every.results) - shown)
    kept = []
    for (name, _), text in zip(below, texts, strict=True):
        if name:
            room -= text.count("\n")
        if name and room < 0:
            omitted[name] += 1
        else:
            kept.append(text)
    shown_texts = [title, table]
    if kept:
        shown_texts.append("".join(kept))
    return "\n".join(shown_texts), [several(count, name) for name, count in omitted.items() if count]


def _below(item: JudgedItem, whole: Grid) -> list[tuple[str, RenderableType]]:
    """Return the parts below the table of an item.

    Returns:
        Pairs of name and part; the name of a part that cannot be omitted is "".
    """
    grid, rest = folded(whole)
    lines, notes = [*_symbols(grid), *_failures(whole)], []
    for mark, text in grid.footnotes:
        notes.append(f"[{mark}] {text}")
    differences = difference_notes(item)
    few = len(item.effects) <= FEW_DIFFERENCES
    if few:
        lines += differences
    for note in remarks(item):
        if not few or note not in differences:
            notes.append(note)
    if rest:
        notes.append(folded_note(rest))
    parts: list[tuple[str, RenderableType]] = []
    for line in lines:
        parts.append(("", Text(line)))
    for note in notes:
        parts.append(("note", _prose(note)))
    if item.deviations:
        parts.append(("list of deviations", _deviations(item.deviations)))
    return parts


def _symbols(grid: Grid) -> list[str]:
    """Return a line with the symbols of the verdicts in a grid, if any."""
    used: set[str] = set()
    for column in grid.columns:
        used.update(cell.shown.word for cell in column.cells)
    symbols = [f"{symbol} {name}" for name, symbol in SYMBOLS.items() if name in used]
    if not symbols:
        return []
    return ["   ".join(symbols)]


def _title(item: JudgedItem) -> Text:
    facts = [item.place]
    for name, value in item.setting.items():
        facts.append(f"{name}: {value}")
    facts.append(item.standing)
    title = Text(f"{item.item}  {item.title}\n{' · '.join(filter(None, facts))}")
    title.highlight_words([item.item, item.standing], "bold")
    return title


def _chosen(grid: Grid, names: Sequence[str]) -> Grid:
    """Select columns of a grid by id, in the order of the ids.

    Without ids, all columns are selected, averages first.
    """
    results = grid.results
    if names:
        results = [column for column in results if column.id in names]
        results.sort(key=lambda column: names.index(column.id))
    else:
        results.sort(key=lambda column: not column.average)
    labels = [column for column in grid.columns if column.kind == "label"]
    return replace(grid, columns=(*labels, *results))


def _failures(grid: Grid) -> Iterator[str]:
    """Yield the first reasons of failed cells, and a command for the others."""
    reasons: list[str] = []
    for column in grid.columns:
        for cell in column.cells:
            if cell.shown.word == "failed":
                reasons.append(dict(cell.facts)["because"])
    reasons = list(dict.fromkeys(reasons))
    for reason in reasons[:FAILURES]:
        yield f"failed: {reason}"
    if len(reasons) > FAILURES:
        yield f"{len(reasons) - FAILURES} more reasons: replicse why CELL"


def page_text(page: Page, width: int = WIDTH, colour: bool = False) -> str:
    """Render a page of sheets.

    Args:
        page: The page.
        width: Width in characters. Default: WIDTH.
        colour: Whether to use colours. Default: False.
    """
    parts: list[RenderableType] = [Text(page.title, "bold")]
    if page.headline:
        parts.append(Text(page.headline))
    parts += map(_prose, page.text)
    for sheet in page.sheets:
        parts.append(_sheet(sheet, width))
    return _join(parts, width, colour)


def rendered(part: RenderableType, width: int, colour: bool = False) -> str:
    """Render with rich, independent of the terminal and environment.

    Args:
        part: An object that rich can render.
        width: Width in characters.
        colour: Whether to use colours. Default: False.
    """
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
    from rich.markdown import Markdown  # this import takes as long as the other imports of rich together

    return Markdown(markdown, hyperlinks=False)


def _table() -> Table:
    return Table(
        box=box.HORIZONTALS, show_edge=False, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False,
        title_justify="left", title_style="",
    )  # fmt: skip


def _sheet(sheet: Sheet, width: int) -> RenderableType:
    """Render a sheet; the gaps are narrow if the words need the space."""
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
    parts: list[RenderableType] = [table]
    if sheet.title:
        parts.insert(0, Text(sheet.title, "bold"))
    if sheet.note:
        parts.append(_prose(sheet.note))
    return Group(*parts)


def _longest_word(texts: Sequence[str]) -> int:
    return max(map(len, " ".join(texts).split()), default=0)


def _fitted(columns: Sequence[Sequence[str]], words: Sequence[int], width: int) -> list[int]:
    """Reduce the widths of columns until they fit, the widest first.

    Columns become narrower than their longest word only if all of them have to.
    """
    widths = [max(map(len, texts)) for texts in columns]
    while sum(widths) > width and max(widths) > 1:
        place = max(range(len(widths)), key=lambda place: (widths[place] > words[place], widths[place]))
        widths[place] -= 1
    return widths


def _panels(grid: Grid, width: int) -> list[Table]:
    """Render a grid, with stacked cells in several panels if it is too wide."""
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
        justify: JustifyMethod = "right" if column.kind == "result" else "left"
        width = PROSE if column.kind == "prose" else HEADER
        heading = Text(textwrap.fill(column.heading, width))
        table.add_column(heading, justify=justify, vertical="top", no_wrap=True)
    for entry, cells in grid.rows:
        if entry.rule:
            table.add_section()
        if isinstance(entry, Heading):
            table.add_row(Text(textwrap.fill(entry.text, LABEL), "italic"))
        else:
            table.add_row(*(_cell(column, cell, stacked) for column, cell in cells))
    return table


def _cell(column: Column, cell: GridCell, stacked: bool) -> Text:
    """Render a cell; the parts of results are aligned in a column."""
    shown = cell.shown
    if column.kind == "label":
        indent = "  " * cell.indent
        label = shown.text
        if cell.mark:
            label += f" [{cell.mark}]"
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
    if shown.symbol:
        text.highlight_words([shown.symbol], STYLES.get(shown.word, ""))
    if shown.best:
        spans = {"reported": (0, len(reported)), "reproduced": (len(reported) + 3, len(numbers))}
        for part in shown.best:
            text.stylize("bold", *spans[part])
    return text
