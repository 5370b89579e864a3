"""Tables and the report as LaTeX: booktabs, on pages they fit, for any engine."""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from replicse.report.content.cells import ARROW, QUOTED, Shown
from replicse.report.content.contents import Report
from replicse.report.content.tables import Grid, Heading, Line, Sheet, marks_of, panels
from replicse.report.formats.prose import latex_blocks, latex_inline, latex_text

# Points: nearly the text width of an upright and a turned page, type sizes, parts of a cell as the template
# sets them.
PORTRAIT, LANDSCAPE = 476.0, 712.0
SIZE, SMALL = 8.0, 7.0
ARROW_WIDTH, SYMBOL, GAP = 11.0, 10.0, 8.0
LABEL, PROSE = 165.0, 150.0
HEADER = 14
# Physical lines of a table kept in one piece, and of one that is cut into panels rather than turned.
WHOLE, SPLIT = 36, 32
NARROW, WIDE = dict.fromkeys(".,:;'|! il", 0.3), dict.fromkeys("−±→%mwMW", 0.85)
# Where a line may end: behind a space, a hyphen or a slash.
BREAKS = re.compile(r"(?<=[-/])|\s+")
WIDTHS = {**NARROW, **dict.fromkeys("()[]-tfrjs", 0.42), **WIDE}


def grid(table: Grid) -> str:
    """Return a grid as LaTeX that runs off no page; it needs the macros of the report's preamble."""
    text, turned = layout(table)
    return f"\\begin{{landscape}}\n{text}\\end{{landscape}}\n" if turned else text


def layout(table: Grid) -> tuple[str, bool]:
    """Return a grid as LaTeX, and whether its page must be turned.

    A table of few rows is cut into panels on an upright page, a long one is turned, and cut into panels
    where it is too wide even then.
    """
    upright = panels(table, _fitting(table, PORTRAIT))
    if len(upright) == 1 or _height(table) * len(upright) <= SPLIT:
        return _panels(upright), False
    return _panels(panels(table, _fitting(table, LANDSCAPE))), True


def sheet(table: Sheet) -> str:
    """Return a plain table as LaTeX; columns that do not fit share the width by the length of their text."""
    widths = _sheet_widths(table)
    lines = [_physical_lines(row, widths) for row in table.rows]
    # Where rows wrap, a little room says where the next one begins.
    end = r" \\" if all(width is None for width in widths) else r" \\[2pt]"
    rows = [" & ".join(_breakable(text) for text in row) + end for row in table.rows]
    header = " & ".join(latex_text(text) for text in table.header) + r" \\"
    note = f"\\par\\smallskip{{\\footnotesize {latex_inline(table.note)}\\par}}\n" if table.note else ""
    kinds = [_kind(width, place in table.numeric) for place, width in enumerate(widths)]
    return _environment("".join(kinds), header, rows, sum(lines)) + note


def document(report: Report, pictures: Mapping[str, str]) -> str:
    """Return the report as a LaTeX document; `pictures` holds the path of each item's PDF by item id."""
    # Braces and percent signs are LaTeX's own, so the template's marks differ from Jinja's usual ones.
    environment = Environment(
        loader=PackageLoader("replicse.report.formats"),
        undefined=StrictUndefined,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<%#",
        comment_end_string="#%>",
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"tex": latex_text, "inline": latex_inline, "blocks": latex_blocks}
    layouts = {entry.item.id: layout(entry.grid) for section in report.sections for entry in section.entries}
    template = environment.get_template("report.tex.j2")
    return template.render(report=report, pictures=pictures, layouts=layouts, sheet=sheet)


def _points(text: str, size: float) -> float:
    """Return about how wide a text is set."""
    return size * sum(WIDTHS.get(character, 0.53) for character in text)


def _widest(texts: Iterable[str], size: float = SIZE) -> float:
    return max((_points(text, size) for text in texts), default=0.0)


def _fitting(table: Grid, room: float) -> int:
    """Return how many columns fit beside the labels."""
    columns = range(len(table.header))
    labels = min(LABEL, _widest(line.label for line in table.lines)) + GAP
    widths = [_column_width(table, place) for place in columns]
    if sum(widths) <= room - labels:
        return len(widths)
    return max(1, int((room - labels) // max(widths)))


def _column_width(table: Grid, place: int) -> float:
    if place in table.prose:
        return GAP + PROSE
    left, right = (_points(table.longest(part, place), SIZE) for part in ("reported", "reproduced"))
    spread, delta = (_points(table.longest(part, place), SMALL) for part in ("spread", "delta"))
    header = _widest(textwrap.wrap(table.header[place], HEADER))
    if table.stacked:
        return GAP + max(header, max(left, delta) + ARROW_WIDTH + max(right, spread) + SYMBOL)
    verdict = _points(table.longest("verdict", place), SIZE)
    return GAP + max(header, left + ARROW_WIDTH + right + spread + delta + SYMBOL + verdict + GAP)


def _height(table: Grid) -> int:
    """Return about how many lines of type the rows take."""
    usual = 2 if table.stacked else 1
    return sum(max([usual, *(_wrapped(line, place) for place in table.prose)]) for line in table.lines)


def _wrapped(line: Line, place: int) -> int:
    return math.ceil(_points(line.cells[place].shown.text, SIZE) / PROSE)


def _panels(cut: list[Grid]) -> str:
    notes = [rf"\textsuperscript{{{mark}}}~{latex_inline(text)}\par" for mark, text in marks_of(cut[0])]
    footer = [r"{\footnotesize\noindent", *notes, "}"] if notes else []
    return "\\medskip\n".join(_panel(panel) for panel in cut) + "\n".join([*footer, ""] if footer else [])


def _panel(table: Grid) -> str:
    label = "l"
    if _widest(line.label for line in table.lines) > LABEL:
        label = rf">{{\raggedright\arraybackslash\hangindent=1em}}p{{{LABEL:g}pt}}"
    kind = "c" if table.stacked else "l"
    header = " & ".join([latex_text(table.corner), *(_stack(text, kind) for text in table.header)]) + r" \\"
    rows: list[str] = []
    for place, entry in enumerate(table.body):
        if entry.rule and place:
            rows.append(r"\midrule")
        if isinstance(entry, Heading):
            span = len(table.header) + 1
            rows.append(rf"\multicolumn{{{span}}}{{@{{}}l}}{{\emph{{{latex_text(entry.text)}}}}} \\*")
        else:
            rows.append(_row(entry, table.stacked, table.prose))
    kinds = [
        rf">{{\raggedright\arraybackslash}}p{{{PROSE:g}pt}}"
        if place in table.prose
        else f">{{{_widths(table, place)}}}{kind}"
        for place in range(len(table.header))
    ]
    return _environment(label + "".join(kinds), header, rows, _height(table))


def _environment(kinds: str, header: str, rows: list[str], lines: int) -> str:
    """Return a table in one piece, or one that may break over pages and repeats its header."""
    body = "\n".join(rows)
    columns = f"@{{}}{kinds}@{{}}"
    if lines <= WHOLE:
        start = f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{header}\n\\midrule\n"
        return f"{{\\tablesize\n{start}{body}\n\\bottomrule\n\\end{{tabular}}\\par}}\n"
    start = f"\\begin{{longtable}}[l]{{{columns}}}\n\\toprule\n{header}\n\\midrule\n\\endhead\n"
    foot = "\\midrule\n\\endfoot\n\\bottomrule\n\\endlastfoot\n"
    return f"{{\\tablesize\n{start}{foot}{body}\n\\end{{longtable}}}}\n"


def _widths(table: Grid, place: int) -> str:
    """Return the macro call that sets the widths of a cell's parts to the longest of the column."""
    parts = [table.longest(name, place) for name in ("reported", "reproduced", "delta", "spread")]
    name = "stackedwidths" if table.stacked else "writtenwidths"
    return rf"\{name}" + "".join(f"{{{latex_text(part)}}}" for part in parts)


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
    label = f"{indent}{latex_text(line.label)}{mark}"
    row = " & ".join([label, *cells])
    return row + (r" \\[2pt]" if stacked else r" \\")


def _cell(shown: Shown, stacked: bool) -> str:
    if not shown.text:
        return ""
    parts = [shown.reported, ARROW if shown.reproduced else "", shown.reproduced]
    if stacked and shown.detail:
        name, parts = "cellstacked", [*parts, shown.symbol, shown.delta, shown.spread]
    elif stacked:
        name, parts = "cellnumbers", [*parts, shown.symbol]
    else:
        name = "cellquoted" if shown.verdict == QUOTED else "cellwritten"
        parts += [shown.spread, shown.delta, shown.symbol, shown.verdict]
    return rf"\{name}" + "".join(f"{{{latex_text(part)}}}" for part in parts)


def _sheet_widths(table: Sheet) -> list[float | None]:
    """Return the width of each column that wraps, and None for those of natural width.

    Every column has room for its longest word; what is left is shared by what each still needs.
    """
    columns = list(zip(table.header, *table.rows, strict=True))
    natural = [_widest(column) for column in columns]
    least = [_widest(word for text in column for word in BREAKS.split(text)) for column in columns]
    room = PORTRAIT - GAP * len(columns)
    if sum(natural) <= room:
        return [None] * len(columns)
    left, need = room - sum(least), sum(natural) - sum(least)
    widths = [low + max(0.0, left / need) * (high - low) for low, high in zip(least, natural, strict=True)]
    return [None if natural[place] - width <= 0.5 else width for place, width in enumerate(widths)]


def _physical_lines(row: Iterable[str], widths: Sequence[float | None]) -> int:
    """Return about how many lines of type a row takes."""
    return max(
        1 if width is None else math.ceil(_points(text, SIZE) / (0.92 * width))
        for text, width in zip(row, widths, strict=True)
    )


def _kind(width: float | None, numeric: bool) -> str:
    if width is None:
        return "r" if numeric else "l"
    return rf">{{\raggedright\arraybackslash}}p{{{width:.0f}pt}}"


def _breakable(text: str) -> str:
    """Return text as LaTeX that may break behind a slash, as the names of cells do."""
    return latex_text(text).replace("/", r"/\allowbreak{}")
