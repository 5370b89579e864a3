"""Tables and the report as LaTeX: booktabs, on pages they fit, for any engine."""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from jinja2 import Environment

from replicse.report.content.cells import ARROW, QUOTED, Shown
from replicse.report.content.contents import Entry, Report
from replicse.report.content.tables import Grid, Heading, Line, Sheet, marks_of, panels
from replicse.report.formats import templates
from replicse.report.formats.prose import (
    kept_whole,
    latex_address,
    latex_blocks,
    latex_code,
    latex_inline,
    latex_text,
)

# Points: the width of the text, of a character of a table, of the parts of a cell that the template sets, of gaps.
ROOM, CHARACTER = 476.0, 4.3
ARROW_WIDTH, SYMBOL, GAP = 11.0, 10.0, 8.0
LABEL, PROSE = 165.0, 150.0
HEADER = 14
# Physical lines of a table that is kept in one piece.
WHOLE = 36
# Where a line may end: behind a space, a hyphen or a slash.
BREAKS = re.compile(r"(?<=[-/])|[ \n]+")
RAGGED = r">{{\raggedright\arraybackslash{more}}}p{{{width:.0f}pt}}"


def grid(table: Grid) -> str:
    """Return a grid as LaTeX, in as few panels as fit the page; it needs the macros of the report's preamble."""
    labels = min(LABEL, _widest(line.label for line in table.lines)) + GAP
    columns = [_column_width(table, place) for place in range(len(table.header))]
    fitting = len(columns) if sum(columns) <= ROOM - labels else int((ROOM - labels) // max(columns))
    cut = panels(table, max(1, fitting))
    notes = [rf"\textsuperscript{{{mark}}}~{latex_inline(text)}\par" for mark, text in marks_of(table)]
    footer = [r"{\footnotesize\noindent", *notes, "}", ""] if notes else []
    return "\\medskip\n".join(_panel(panel) for panel in cut) + "\n".join(footer)


def sheet(table: Sheet) -> str:
    """Return a plain table as LaTeX; columns that do not fit share the width by the length of their text."""
    table = replace(table, rows=tuple(tuple(map(kept_whole, row)) for row in table.rows))
    widths = _sheet_widths(table)
    # Names of cells may break behind a slash.
    rows = [
        " & ".join(latex_text(text).replace("/", r"/\allowbreak{}") for text in row) + r" \\"
        for row in table.rows
    ]
    if any(width is not None for width in widths):
        # A row whose first cell is blank goes on with what the one above it is of.
        starts = [place > 0 and bool(row[0]) for place, row in enumerate(table.rows)]
        rows = [f"\\rowrule\n{row}" if start else row for row, start in zip(rows, starts, strict=True)]
    header = " & ".join(map(latex_text, table.header)) + r" \\"
    kinds = [
        RAGGED.format(more="", width=width) if width is not None else "r" if place in table.numeric else "l"
        for place, width in enumerate(widths)
    ]
    lines = sum(max(map(_lines, row, widths)) for row in table.rows)
    note = f"\\par\\smallskip{{\\footnotesize {latex_inline(table.note)}\\par}}\n" if table.note else ""
    return _environment("".join(kinds), [r"\toprule", header], rows, lines) + note


def table(entry: Entry) -> str:
    r"""Return an item's table with its notes as a file to \input; it needs `macros`."""
    name = latex_text(f"{entry.name}, {entry.item.title}")
    said = f"% {entry.item.item}: {name}; \\input{{macros}} stands in the preamble.\n"
    notes = [rf"{{\footnotesize\noindent {latex_inline(note)}\par}}" for note in entry.notes]
    return said + grid(entry.grid) + "".join(f"{note}\n" for note in notes)


def macros() -> str:
    """Return what tables need in the preamble of the document that they stand in."""
    return _templates().get_template("macros.tex").render() + "\n"


def document(report: Report, pictures: Mapping[str, str]) -> str:
    """Return the report as a LaTeX document; `pictures` holds the path of each item's PDF by item id."""
    template = _templates().get_template("report.tex.j2")
    return template.render(report=report, pictures=pictures, grid=grid, sheet=sheet)


@cache
def _templates() -> Environment:
    # Braces and percent signs are LaTeX's own, so the template's marks differ from Jinja's usual ones.
    environment = templates(
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<%#",
        comment_end_string="#%>",
    )
    environment.filters |= {"tex": latex_text, "inline": latex_inline, "blocks": latex_blocks}
    environment.filters |= {"address": latex_address, "code": latex_code}
    return environment


def _widest(texts: Iterable[str]) -> float:
    """Return about how wide the widest text is set, in points."""
    return CHARACTER * max(map(len, texts), default=0)


def _lines(text: str, width: float | None) -> int:
    """Return about how many lines of type a text takes in a column of this width."""
    return 1 if width is None else math.ceil(CHARACTER * len(text) / (0.92 * width))


def _column_width(table: Grid, place: int) -> float:
    if place in table.prose:
        return GAP + PROSE
    left, right, spread, delta, verdict, wide = (
        CHARACTER * len(table.longest(part, place, table.stacked))
        for part in ("reported", "reproduced", "spread", "delta", "verdict", "wide")
    )
    if table.stacked:
        body = max(max(left, delta) + ARROW_WIDTH + max(right, spread), wide) + SYMBOL
    else:
        body = left + ARROW_WIDTH + right + spread + delta + SYMBOL + verdict + GAP
    return GAP + max(body, _widest(textwrap.wrap(table.header[place], HEADER)))


def _panel(table: Grid) -> str:
    label = "l"
    if _widest(line.label for line in table.lines) > LABEL:
        label = RAGGED.format(more=r"\hangindent=1em", width=LABEL)
    kind = "c" if table.stacked else "l"
    header = " & ".join(["", *(_stack(text, kind) for text in table.header)]) + r" \\"
    tall = any(_height(line, table) > 1 for line in table.lines)
    rows: list[str] = []
    for place, entry in enumerate(table.body):
        above = table.body[place - 1] if place else None
        if entry.rule and above:
            rows.append(r"\midrule")
        elif isinstance(above, Line) and isinstance(entry, Line) and tall and not entry.indent:
            rows.append(r"\rowrule")
        if isinstance(entry, Heading):
            span = len(table.header) + 1
            rows.append(rf"\multicolumn{{{span}}}{{@{{}}l}}{{\emph{{{latex_text(entry.text)}}}}} \\*")
        else:
            rows.append(_row(entry, table.stacked, table.prose))
    kinds = [
        RAGGED.format(more="", width=PROSE) if place in table.prose else f">{{{_widths(table, place)}}}{kind}"
        for place in range(len(table.header))
    ]
    height = sum(_height(line, table) for line in table.lines)
    whole = rf"\multicolumn{{{len(table.header) + 1}}}{{@{{}}l@{{}}}}"
    caption = rf"{whole}{{\itemcaption{{{latex_text(table.caption)}}}}} \\"
    head = [*([caption] if table.caption else []), r"\toprule", header]
    return _environment(label + "".join(kinds), head, rows, height)


def _height(line: Line, table: Grid) -> int:
    """Return about how many lines of type a row takes."""
    usual = 1 + max([1, *(len(cell.shown.wide) for cell in line.cells)]) if table.stacked else 1
    return max([usual, *(_lines(line.cells[place].shown.text, PROSE) for place in table.prose)])


def _environment(kinds: str, head: list[str], rows: list[str], lines: int) -> str:
    """Return a table in one piece, or one that may break over pages and repeats its head."""
    body = "\n".join(rows)
    columns = f"@{{}}{kinds}@{{}}"
    top = "\n".join([*head, "\\midrule"])
    if lines <= WHOLE:
        start = f"\\begin{{tabular}}{{{columns}}}\n{top}\n"
        return f"{{\\tablesize\\noindent\n{start}{body}\n\\bottomrule\n\\end{{tabular}}\\par}}\n"
    start = f"\\begin{{longtable}}[l]{{{columns}}}\n{top}\n\\endhead\n"
    # Where rows have rules of their own, the page ends with one of them.
    foot = "" if "\\rowrule" in body else "\\midrule\n"
    foot += "\\endfoot\n\\bottomrule\n\\endlastfoot\n"
    return f"{{\\tablesize\n{start}{foot}{body}\n\\end{{longtable}}}}\n"


def _widths(table: Grid, place: int) -> str:
    """Return the macro call that sets the widths of a cell's parts to the longest of the column."""
    names = ("reported", "reproduced", "delta", "spread", *(["wide"] if table.stacked else []))
    parts = [table.longest(name, place, table.stacked) for name in names]
    return _macro("stackedwidths" if table.stacked else "writtenwidths", parts)


def _stack(text: str, kind: str) -> str:
    lines = [latex_text(line) for line in textwrap.wrap(text, HEADER)] or [""]
    return lines[0] if len(lines) == 1 else rf"\shortstack[{kind}]{{" + r"\\".join(lines) + "}"


def _row(line: Line, stacked: bool, prose: frozenset[int]) -> str:
    cells = [
        latex_text(cell.shown.text) if place in prose else _cell(cell.shown, stacked)
        for place, cell in enumerate(line.cells)
    ]
    indent = r"\quad " if line.indent else ""
    mark = rf"\textsuperscript{{{line.mark}}}" if line.mark else ""
    row = " & ".join([f"{indent}{latex_text(line.label)}{mark}", *cells])
    return row + r" \\"


def _cell(shown: Shown, stacked: bool) -> str:
    if not shown.text:
        return ""
    parts = [shown.reported, ARROW if shown.reproduced else "", shown.reproduced]
    if stacked and shown.wide:
        first, second = (*shown.wide, "")[:2]
        return _macro("celltall", [*parts, shown.symbol, first, second])
    if stacked and shown.detail:
        return _macro("cellstacked", [*parts, shown.symbol, shown.delta, shown.spread])
    if stacked:
        return _macro("cellnumbers", [*parts, shown.symbol])
    name = "cellquoted" if shown.verdict == QUOTED else "cellwritten"
    return _macro(name, [*parts, shown.spread, shown.delta, shown.symbol, shown.verdict])


def _macro(name: str, parts: Iterable[str]) -> str:
    return rf"\{name}" + "".join(f"{{{latex_text(part)}}}" for part in parts)


def _sheet_widths(table: Sheet) -> Sequence[float | None]:
    """Return the width of each column that wraps, and None for those of natural width.

    Every column has room for its longest word; beyond that widths follow the lengths of the texts, so that the rows
    become low: the cube root of their squares makes the sum of (length / width) squared least.
    """
    columns = list(zip(table.header, *table.rows, strict=True))
    natural = [_widest(column) for column in columns]
    least = [_widest(word for text in column for word in BREAKS.split(text)) for column in columns]
    room = ROOM - GAP * len(columns)
    if sum(natural) <= room:
        return [None] * len(columns)
    weights = [sum(len(text) ** 2 for text in column) ** (1 / 3) for column in columns]
    low, high = 0.0, room
    for _ in range(50):
        middle = (low + high) / 2
        widths = [
            min(max(middle * weight, shortest), longest)
            for weight, shortest, longest in zip(weights, least, natural, strict=True)
        ]
        low, high = (low, middle) if sum(widths) > room else (middle, high)
    return [None if high - width <= 0.5 else width for width, high in zip(widths, natural, strict=True)]
