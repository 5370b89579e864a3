"""Render tables and the report as GitHub Markdown."""

import re
from collections.abc import Iterable, Mapping

from replicse.show.content.cells import Part, Shown
from replicse.show.content.contents import Document, ItemEntry
from replicse.show.content.grids import Column, Grid, GridCell, Heading
from replicse.show.content.sheets import Sheet
from replicse.show.formats import templates

# An ampersand is special only if it begins an entity.
SPECIAL = re.compile(r"([\\`*_\[\]<>|]|&(?=#?\w+;))")
HTML = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]+>)")


def escape(text: str) -> str:
    """Escape plain text for Markdown and for cells of Markdown tables."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def escape_html(text: str) -> str:
    """Escape raw HTML in Markdown; links such as <https://example.org> remain."""
    return HTML.sub("&lt;", text)


def grid(table: Grid) -> str:
    """Render a grid as a Markdown table with a caption and footnotes.

    Headings become bold rows.
    """
    header, rule = [], []
    for column in table.columns:
        header.append(escape(column.heading))
        rule.append(":--" if column.kind == "label" else "--:")
    lines = [_line(header), _line(rule)]
    for entry, cells in table.rows:
        if isinstance(entry, Heading):
            lines.append(_line([f"**{escape(entry.text)}**", *[""] * (len(table.columns) - 1)]))
        else:
            lines.append(_line([_cell(column, cell, table.stacked) for column, cell in cells]))
    parts = [f"*{escape(table.caption)}*"] if table.caption else []
    parts.append("\n".join(lines))
    for mark, text in table.footnotes:
        parts.append(f"<sup>{mark}</sup> {escape_html(text)}")
    return "\n\n".join(parts)


def table(entry: ItemEntry) -> str:
    """Render an item's table with name and notes as a Markdown file."""
    title = f"**{escape(entry.name)}: {escape(entry.item.title)}**"
    return "\n\n".join([title, grid(entry.grid), *map(escape_html, entry.notes)]) + "\n"


def sheet(table: Sheet) -> str:
    """Render a plain table as Markdown."""
    rule = [":--"] * len(table.header)
    for place in table.numeric:
        rule[place] = "--:"
    lines = [_line(map(escape, table.header)), _line(rule)]
    for row in table.rows:
        lines.append(_line(map(escape, row)))
    text = "\n".join(lines)
    if table.note:
        text += f"\n\n{escape_html(table.note)}"
    return text


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _cell(column: Column, cell: GridCell, stacked: bool) -> str:
    shown = cell.shown
    if column.kind == "label":
        # Use no-break spaces, because Markdown removes other spaces at the start of a cell.
        text = "\u00a0\u00a0" * cell.indent + escape(shown.text)
        if cell.mark:
            text += f" <sup>{cell.mark}</sup>"
        return text
    parts = [_number(shown, "reported"), shown.arrow, _number(shown, "reproduced")]
    if not stacked:
        return " ".join(filter(None, [*parts, *map(escape, (shown.detail, shown.symbol, shown.word))]))
    first = " ".join(filter(None, [*parts, escape(shown.symbol)]))
    return "<br>".join(filter(None, [first, *map(escape, shown.wide or [shown.detail])]))


def _number(shown: Shown, part: Part) -> str:
    text = escape(getattr(shown, part))
    if part in shown.best:
        return f"**{text}**"
    return text


def document(report: Document, pictures: Mapping[str, str]) -> str:
    """Render the report as Markdown.

    Args:
        report: The document.
        pictures: A dict from item ids to paths of SVG figures, or "".
    """
    environment = templates()
    environment.filters |= {"escaped": escape, "without_html": escape_html, "slug": _slug}
    template = environment.get_template("report.md.j2")
    text = template.render(report=report, pictures=pictures, grid=grid, sheet=sheet)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _slug(title: str) -> str:
    """Return the anchor that GitHub creates for a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
