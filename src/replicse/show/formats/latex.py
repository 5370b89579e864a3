"""Render tables and reports as LaTeX with booktabs for every engine."""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from jinja2 import Environment

from replicse.judge.verdicts.table import QUOTED
from replicse.registry.artefacts import MACROS
from replicse.show.content.cells import SYMBOLS, Part, Shown
from replicse.show.content.contents import Document, ItemEntry
from replicse.show.content.grids import Column, Grid, GridCell, GridLine, Heading, panels
from replicse.show.content.sheets import Sheet
from replicse.show.formats import templates
from replicse.show.formats.prose import (
    kept_whole,
    latex_address,
    latex_blocks,
    latex_code,
    latex_inline,
    latex_text,
)

# Widths in points: the page, a character in a table, an arrow, a symbol, a gap, and columns of labels and prose.
ROOM, CHARACTER = 476.0, 4.3
ARROW_WIDTH, SYMBOL, GAP = 11.0, 10.0, 8.0
LABEL, PROSE = 165.0, 150.0
HEADER = 14
PARTS: tuple[Part, ...] = ("reported", "reproduced")
# The maximum number of lines of a table that is not split over pages.
WHOLE = 36
# A name can break after a slash and before a long word in camel case, such as SprintDuplicateQuestions.
PARTED = r"(?<=/)|(?<=[a-z])(?=[A-Z][a-z]{6})"
# A line can also break after a space or a hyphen.
BREAKS = re.compile(rf"{PARTED}|(?<=-)|[ \n]+")
RAGGED = r">{{\raggedright\arraybackslash{more}}}p{{{width:.0f}pt}}"


def grid(table: Grid, title: str = "") -> str:
    """Render a grid with a caption, in as few panels as possible.

    Args:
        table: The grid.
        title: Text before the caption. Default: "".

    Returns:
        LaTeX that requires `macros`.
    """
    caption = rf"\itemcaption{{{latex_text(': '.join(filter(None, (title, table.caption))))}}}" + "\n"
    room, widths = ROOM, []
    for column in table.columns:
        width = _column_width(column, table)
        if column.kind == "label":
            room -= width
        else:
            widths.append(width)
    fitting = len(widths)
    if sum(widths) > room:
        fitting = int(room // max(widths))
    text = caption + "\\medskip\n".join(map(_panel, panels(table, max(1, fitting))))
    if table.footnotes:
        text += "{\\footnotesize\\noindent\n"
        for mark, note in table.footnotes:
            text += rf"\textsuperscript{{{mark}}}~{latex_inline(note)}\par" + "\n"
        text += "}\n"
    return text


def sheet(table: Sheet) -> str:
    """Render a plain table.

    If the table is too wide, its columns get fixed widths and wrap.
    """
    whole_rows = [tuple(map(kept_whole, row)) for row in table.rows]
    table = replace(table, rows=tuple(whole_rows))
    widths = _sheet_widths(table)
    wraps = any(width is not None for width in widths)
    rows = []
    for place, row in enumerate(table.rows):
        # A row continues the row above if the first cell is empty.
        starts_entry = wraps and place > 0 and row[0]
        rule = "\\rowrule\n" if starts_entry else ""
        rows.append(rule + " & ".join(map(_breakable_text, row)) + r" \\")
    header = " & ".join(map(latex_text, table.header)) + r" \\"
    kinds = []
    for place, width in enumerate(widths):
        if width is not None:
            kinds.append(RAGGED.format(more="", width=width))
        else:
            kinds.append("r" if place in table.numeric else "l")
    lines = sum(max(map(_lines, row, widths)) for row in table.rows)
    note = ""
    if table.note:
        note = f"\\par\\nopagebreak\\smallskip{{\\footnotesize {latex_inline(table.note)}\\par}}\n"
    return _environment("".join(kinds), [r"\toprule", header], rows, lines) + note


def _breakable_text(text: str) -> str:
    return re.sub(PARTED, r"\\allowbreak{}", latex_text(text))


def table(entry: ItemEntry) -> str:
    r"""Render an item's table with its notes as a file for \input."""
    name = latex_text(f"{entry.name}, {entry.item.title}")
    text = f"% {entry.item.item}: {name}; \\input{{macros}} goes into the preamble.\n"
    text += grid(entry.grid, entry.item.title)
    for note in entry.notes:
        text += rf"{{\footnotesize\noindent {latex_inline(note)}\par}}" + "\n"
    return text


def macros() -> str:
    """Return the macros that a document with tables uses in the preamble."""
    return _templates().get_template(MACROS).render() + "\n"


def table_alone(entry: ItemEntry) -> str:
    """Render a complete document with one table."""
    body = f"\\begin{{document}}\n{table(entry)}\\end{{document}}\n"
    return f"\\documentclass{{article}}\n{macros()}{body}"


def document(report: Document, pictures: Mapping[str, str]) -> str:
    """Render the report as a LaTeX document.

    Args:
        report: The document.
        pictures: A dict from item ids to paths of PDF figures, or "".
    """
    template = _templates().get_template("report.tex.j2")
    return template.render(report=report, pictures=pictures, grid=grid, sheet=sheet)


@cache
def _templates() -> Environment:
    # The default delimiters of Jinja conflict with braces and percent signs in LaTeX.
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
    """Estimate the width of the widest text in points.

    Capitals are wider than other characters.
    """
    widths = [len(text) + 0.4 * sum(map(str.isupper, text)) for text in texts]
    return CHARACTER * max(widths, default=0)


def _lines(text: str, width: float | None) -> int:
    """Estimate the number of lines of a text; `width` None does not wrap."""
    if width is None:
        return 1
    return math.ceil(CHARACTER * len(text) / (0.92 * width))


def _column_width(column: Column, table: Grid) -> float:
    if column.kind == "label":
        return min(LABEL, _widest([column.longest("text")])) + GAP
    if column.kind == "prose":
        return GAP + PROSE
    left, right, spread, delta, verdict, wide = (
        CHARACTER * len(column.longest(part, table.stacked))
        for part in ("reported", "reproduced", "spread", "delta", "verdict", "wide")
    )
    if table.stacked:
        body = max(max(left, delta) + ARROW_WIDTH + max(right, spread), wide) + SYMBOL
    else:
        body = left + ARROW_WIDTH + right + spread + delta + SYMBOL + verdict + GAP
    return GAP + max(body, _widest(textwrap.wrap(column.heading, HEADER)))


def _panel(table: Grid) -> str:
    kind = "c" if table.stacked else "l"
    header = " & ".join(_stack(column.heading, kind) for column in table.columns) + r" \\"
    heights = [_height(cells, table.stacked) for _, cells in table.rows]
    tall = max(heights, default=0) > 1
    rows: list[str] = []
    above = None
    for entry, cells in table.rows:
        if entry.rule and above:
            rows.append(r"\midrule")
        elif isinstance(above, GridLine) and isinstance(entry, GridLine) and tall and not entry.indent:
            rows.append(r"\rowrule")
        if isinstance(entry, Heading):
            span = len(table.columns)
            rows.append(rf"\multicolumn{{{span}}}{{@{{}}l}}{{\emph{{{latex_text(entry.text)}}}}} \\*")
        else:
            row = [_cell(column, cell, table.stacked, entry.row.quoted) for column, cell in cells]
            rows.append(" & ".join(row) + r" \\")
        above = entry
    kinds = [_kind(column, table.stacked) for column in table.columns]
    return _environment("".join(kinds), [r"\toprule", header], rows, sum(heights))


def _kind(column: Column, stacked: bool) -> str:
    """Return the LaTeX column type of a column."""
    if column.kind == "label":
        if _widest([column.longest("text")]) <= LABEL:
            return "l"
        return RAGGED.format(more=r"\hangindent=1em", width=LABEL)
    if column.kind == "prose":
        return RAGGED.format(more="", width=PROSE)
    alignment = "c" if stacked else "l"
    return f">{{{_widths(column, stacked)}}}{alignment}"


def _height(cells: Sequence[tuple[Column, GridCell]], stacked: bool) -> int:
    """Estimate the number of printed lines of a row; 0 for a heading."""
    if not cells:
        return 0
    lines = 2 if stacked else 1
    for column, cell in cells:
        if stacked:
            lines = max(lines, 1 + len(cell.shown.wide))
        if column.kind == "prose":
            lines = max(lines, _lines(cell.shown.text, PROSE))
    return lines


def _environment(kinds: str, head: list[str], rows: list[str], lines: int) -> str:
    """Render a tabular, or a longtable if there are many lines."""
    body = "\n".join(rows)
    columns = f"@{{}}{kinds}@{{}}"
    top = "\n".join([*head, "\\midrule"])
    if lines <= WHOLE:
        start = f"\\begin{{tabular}}{{{columns}}}\n{top}\n"
        return f"{{\\tablesize\\noindent\n{start}{body}\n\\bottomrule\n\\end{{tabular}}\\par}}\n"
    start = f"\\begin{{longtable}}[l]{{{columns}}}\n{top}\n\\endhead\n"
    # If there are rules between rows, such a rule is at the end of the page.
    foot = "" if "\\rowrule" in body else "\\midrule\n"
    foot += "\\endfoot\n\\bottomrule\n\\endlastfoot\n"
    return f"{{\\tablesize\n{start}{foot}{body}\n\\end{{longtable}}}}\n"


def _widths(column: Column, stacked: bool) -> str:
    """Return the macro call that sets the widths of a column's parts."""
    macro, names = "writtenwidths", ["reported", "reproduced", "delta", "spread"]
    if stacked:
        macro = "stackedwidths"
        names.append("wide")
    return _macro(macro, [column.longest(name, stacked) for name in names])


def _stack(text: str, kind: str) -> str:
    lines = list(map(latex_text, textwrap.wrap(text, HEADER)))
    if len(lines) <= 1:
        return "".join(lines)
    return rf"\shortstack[{kind}]{{" + r"\\".join(lines) + "}"


def _cell(column: Column, cell: GridCell, stacked: bool, quoted: bool) -> str:
    """Return a cell; the label of a quoted row has the symbol of its cells."""
    if column.kind == "result":
        shown = replace(cell.shown, verdict="") if quoted else cell.shown
        return _result(shown, stacked)
    text = latex_text(cell.shown.text)
    if cell.indent:
        text = r"\quad " + text
    marks = cell.mark
    if quoted and column.kind == "label":
        marks += SYMBOLS[QUOTED]
    if marks:
        text += rf"\textsuperscript{{{latex_text(marks)}}}"
    return text


def _result(shown: Shown, stacked: bool) -> str:
    if not shown.text:
        return ""
    parts = []
    for part in PARTS:
        text = latex_text(getattr(shown, part))
        parts.append(rf"\textbf{{{text}}}" if part in shown.best else text)
    parts.insert(1, latex_text(shown.arrow))
    symbol = latex_text(shown.symbol)
    if stacked and shown.wide:
        return _call("celltall", [*parts, symbol, *map(latex_text, (*shown.wide, "")[:2])])
    if stacked and shown.detail:
        return _call("cellstacked", [*parts, symbol, *map(latex_text, (shown.delta, shown.spread))])
    if stacked:
        return _call("cellnumbers", [*parts, symbol])
    name = "cellquoted" if shown.verdict == QUOTED else "cellwritten"
    rest = map(latex_text, (shown.spread, shown.delta, shown.symbol, shown.word))
    return _call(name, [*parts, *rest])


def _macro(name: str, parts: Iterable[str]) -> str:
    return _call(name, map(latex_text, parts))


def _call(name: str, parts: Iterable[str]) -> str:
    return rf"\{name}" + "".join(f"{{{part}}}" for part in parts)


def _sheet_widths(table: Sheet) -> Sequence[float | None]:
    """Return the width of each column in points, or None for natural width.

    Each column is at least as wide as the longest word. The remaining width is distributed by the cube root of the sum
    of squared text lengths, which minimises the sum of (length / width) squared, so that rows have few lines.
    """
    columns = list(zip(table.header, *table.rows, strict=True))
    natural, least, weights = [], [], []
    for column in columns:
        natural.append(_widest(column))
        least.append(_widest(BREAKS.split(" ".join(column))))
        weights.append(sum(len(text) ** 2 for text in column) ** (1 / 3))
    room = ROOM - GAP * len(columns)
    if sum(natural) <= room:
        return [None] * len(columns)
    low, high = 0.0, room
    for _ in range(50):
        middle = (low + high) / 2
        widths = []
        for weight, shortest, longest in zip(weights, least, natural, strict=True):
            widths.append(min(max(middle * weight, shortest), longest))
        if sum(widths) > room:
            high = middle
        else:
            low = middle
    found: list[float | None] = list(widths)
    for place, width in enumerate(natural):
        if width - widths[place] <= 0.5:
            found[place] = None
    return found
