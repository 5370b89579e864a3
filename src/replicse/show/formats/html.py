"""Render tables and the report as self-contained HTML files."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from replicse.printable import MINUS
from replicse.show.content.cell_facts import cell_address, run_command
from replicse.show.content.contents import Document, ItemEntry, Page, Section, Waterfall
from replicse.show.content.grids import Column, Grid, GridLine, panels
from replicse.show.formats import templates
from replicse.show.formats.pictures import deltas_svg, effects_svg, slopes_svg, waterfall_svg
from replicse.show.formats.prose import html_blocks, html_inline, kept_whole

# Maximum number of columns in a panel, and minimum number for a smaller font.
COLUMNS, DENSE = 8, 7
# The PNG, which is smaller, is used if the SVG has more characters.
LARGE = 300_000
# Relative font size of a stacked cell's details.
DETAIL = 0.86
PATH, DIGITS = re.compile(r' d="[^"]*"'), re.compile(r"(\.\d)\d+")
UNQUOTED = " /:;,.=()+-'!?*@_~"
# Width of an arrow with margins, in digits.
ARROW = 2.0
# The name of an item or cell, such as simcse/table3/p0.1/stsb-dev.
NAME = re.compile(r"([a-z0-9]+/[A-Za-z0-9-]+(?:/[^\s/,;:()]+)*)")


def document(report: Document) -> str:
    """Render the first page of the report."""
    template = _environment().get_template("report.html.j2")
    index = json.dumps(search_index(report), ensure_ascii=False, separators=(",", ":"))
    # In a script, `</script` and `<!--<script` have a meaning.
    index = index.replace("<", "\\u003c")
    links = addresses(report)
    for page in report.pages:
        if page.file:
            links[page.file.partition(".")[0]] = page.file
    return template.render(report=report, links=links, picture=Markup(_picture(report)), index=Markup(index))


def page(report: Document, page: Page, pictures: Mapping[str, str] | None = None) -> str:
    """Render a page with a separate HTML file.

    Args:
        report: The document.
        page: A page of the document.
        pictures: A dict from item ids to data URLs of figures. Default: no figures.
    """
    template = _environment().get_template("page.html.j2")
    drawn = []
    for item in page.pictures:
        address = (pictures or {}).get(item)
        if address:
            drawn.append((item, address))
    return template.render(report=report, page=page, links=addresses(report), drawn=drawn)


def paper(report: Document, section: Section, pictures: Mapping[str, str], alone: bool = False) -> str:
    """Render the items of one paper as an HTML file.

    By default, the file links to other pages.

    Args:
        report: The document.
        section: The section of the paper.
        pictures: A dict from item ids to data URLs of figures, or "".
        alone: Whether to omit links to other pages, for the page of a single item. Default: False.
    """
    template = _environment().get_template("paper.html.j2")
    return template.render(report=report, section=section, pictures=pictures, alone=alone)


def methods(title: str, text: Sequence[str], studies: Sequence[tuple[str, str]], table: Grid) -> str:
    """Render the page "Methods by study".

    Args:
        title: The title.
        text: Paragraphs in Markdown.
        studies: Pairs of the folder name and the description of a study.
        table: The grid of methods by studies.
    """
    template = _environment().get_template("methods.html.j2")
    return template.render(title=title, text=text, studies=studies, grid=table, alone=True)


def _picture(report: Document) -> str:
    """Render the picture below the findings."""
    if isinstance(report.picture, Waterfall):
        return waterfall_svg(report.picture)
    if report.picture == "effects":
        return effects_svg(report) or slopes_svg(report)
    if report.picture == "deltas":
        return deltas_svg(report)
    return ""


def addresses(report: Document) -> dict[str, str]:
    """Return the URL of each item and cell.

    Args:
        report: The document.

    Returns:
        A dict from the names of items and cells to URLs. A cell that is not shown has the URL of the item.
    """
    links = {}
    for section in report.sections:
        for entry in section.entries:
            links[entry.item.item] = f"{section.page}#{entry.anchor}"
            shown = set(_cell_addresses(entry))
            for name in map(entry.item.name_of, entry.item.by_id):
                address = cell_address(name)
                if address not in shown:
                    address = entry.anchor
                links[name] = f"{section.page}#{address}"
    return links


def _cell_addresses(entry: ItemEntry) -> Iterator[str]:
    columns = entry.grid.results
    if entry.rest:
        columns += entry.rest.results
    for column in columns:
        for cell in column.cells:
            if cell.address:
                yield cell.address


def search_index(report: Document) -> list[tuple[Any, ...]]:
    """Return the search index of a report.

    Args:
        report: The document.

    Returns:
        A list of (text, URL) for papers, items, rows and lines of pages. The entry of a row with published numbers also
        has the common prefix of the URLs of the cells, and a dict from each number to the rest of the URL of the first
        cell with the number.
    """
    index: list[tuple[Any, ...]] = []
    for page in report.pages:
        index.append((page.title, _page_address(page)))
    for section in report.sections:
        index.append((section.title, section.page))
        for entry in section.entries:
            index.append(
                (f"{section.key} {entry.name}: {entry.item.title}", f"{section.page}#{entry.anchor}")
            )
            index += _indexed_rows(section, entry)
    for page in report.pages:
        if page.lines:
            for sheet in (*page.sheets, *page.further):
                index += [(f"{page.title}: {row[0]}", _page_address(page)) for row in sheet.rows]
    return index


def _page_address(page: Page) -> str:
    return page.file or f"#{_slug(page.title)}"


def _indexed_rows(section: Section, entry: ItemEntry) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of an item's rows in the search index."""
    others = (cells for _, cells in entry.rest.rows) if entry.rest else repeat([])
    for (line, shown), more in zip(entry.grid.rows, others, strict=False):
        if not isinstance(line, GridLine):
            continue
        cells = [cell for _, cell in (*shown, *more) if cell.address]
        start = cell_address(f"{entry.item.item}/{line.row.id}")
        # In reverse, so that the first cell with a number is used.
        ends: dict[str, str] = {}
        for cell in reversed(cells):
            if cell.shown.reported:
                ends[cell.shown.reported.replace(MINUS, "-")] = cell.address.removeprefix(start)
        address = f"{section.page}#{cells[0].address if cells else entry.anchor}"
        row = (f"{section.key} {entry.name}: {line.label}", address)
        yield (*row, f"{section.page}#{start}", ends) if ends else row


def linked(text: str, links: Mapping[str, str]) -> Markup:
    """Convert each name of an item or cell in a text to a link.

    Args:
        text: Plain text.
        links: A dict from names to URLs; other names remain text.
    """
    shown = []
    for part in NAME.split(kept_whole(text)):
        address = links.get(part)
        shown.append(Markup('<a href="{}">{}</a>').format(address, part) if address else escape(part))
    return Markup("").join(shown)


def data_address(stem: Path) -> str:
    """Load a figure as a data URL: the SVG, or the PNG if the SVG is large.

    Args:
        stem: Path of the figure without a suffix.
    """
    text = stem.with_name(f"{stem.name}.svg").read_text(encoding="utf-8")
    if len(text) > LARGE:
        picture = stem.with_name(f"{stem.name}.png").read_bytes()
        return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
    # Round coordinates to a tenth of a point, which is invisible. Other numbers should stay exact.
    text = PATH.sub(lambda match: DIGITS.sub(r"\1", match[0]), text)
    single_quoted = " ".join(text.split()).replace('"', "'")
    return f"data:image/svg+xml,{quote(single_quoted, safe=UNQUOTED)}"


@cache
def _environment() -> Environment:
    environment = templates(autoescape=True)
    environment.filters |= {
        "inline": lambda text: Markup(html_inline(text)),
        "blocks": lambda text, below=0: Markup(html_blocks(text, below)),
        "slug": _slug,
        "linked": linked,
        "waterfall": lambda fall: Markup(waterfall_svg(fall)),
    }
    environment.globals |= {
        "panels": panels,
        "columns": COLUMNS,
        "dense": DENSE,
        "widths": _widths,
        "run_command": run_command,
    }
    return environment


def _widths(table: Grid) -> str:
    """Return CSS properties with the widths of the parts of each column."""
    widths = []
    for place, column in enumerate(table.results):
        widths.append(_column_widths(column, place, table.stacked))
    return ";".join(widths)


def _column_widths(column: Column, place: int, stacked: bool) -> str:
    sizes = {"reported": 1.0, "reproduced": 1.0, "spread": DETAIL, "delta": DETAIL, "wide": DETAIL}
    left, right, spread, delta, wide = (
        len(column.longest(part, stacked)) * size for part, size in sizes.items()
    )
    if stacked:
        # Digits are aligned, so the parenthesis of a difference can extend to the left.
        left, right = max(left, delta - 1), max(right, spread)
        left = max(left, wide - right - ARROW)
    parts = {"left": left, "right": right, "spread": spread, "delta": delta}
    return ";".join(f"--{name}{place}:{width + 0.3:.1f}ch" for name, width in parts.items())


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", text.lower()))
