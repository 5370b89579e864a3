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
from replicse.show.content.grids import Column, Grid, GridCell, GridLine, panels
from replicse.show.formats import templates
from replicse.show.formats.pictures import deltas_svg, effects_svg, slopes_svg, waterfall_svg
from replicse.show.formats.prose import html_blocks, html_inline, kept_whole

# Number of columns that fit beside the labels, and number from which smaller type is used.
COLUMNS, DENSE = 8, 7
# An SVG above this many bytes is replaced by its PNG, which is smaller.
LARGE = 300_000
# Relative size of the type of a stacked cell's details.
DETAIL = 0.86
PATH, DIGITS = re.compile(r' d="[^"]*"'), re.compile(r"(\.\d)\d+")
UNQUOTED = " /:;,.=()+-'!?*@_~"
# Width of the arrow of a cell with its margins, in digits.
ARROW = 2.0
# The name of an item or cell, such as simcse/table3/p0.1/stsb-dev.
NAME = re.compile(r"([a-z0-9]+/[A-Za-z0-9-]+(?:/[^\s/,;:()]+)*)")


def document(report: Document) -> str:
    """Render the first page of the report."""
    template = _environment().get_template("report.html.j2")
    index = json.dumps(search_index(report), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    links = addresses(report) | {page.file.partition(".")[0]: page.file for page in report.pages if page.file}
    return template.render(report=report, links=links, picture=Markup(_picture(report)), index=Markup(index))


def page(report: Document, page: Page, pictures: Mapping[str, str] | None = None) -> str:
    """Render a page with its own HTML file.

    `pictures` contains data URLs by item id.
    """
    template = _environment().get_template("page.html.j2")
    addresses_of_pictures = pictures or {}
    drawn = [(item, addresses_of_pictures[item]) for item in page.pictures if addresses_of_pictures.get(item)]
    return template.render(report=report, page=page, links=addresses(report), drawn=drawn)


def paper(report: Document, section: Section, pictures: Mapping[str, str], alone: bool = False) -> str:
    """Render the items of one paper as an HTML file.

    Args:
        report: The document.
        section: The paper's part of it.
        pictures: Data URLs by item id.
        alone: Whether to omit the links to the rest of the report, for the page of one item.
    """
    template = _environment().get_template("paper.html.j2")
    return template.render(report=report, section=section, pictures=pictures, alone=alone)


def methods(title: str, text: Sequence[str], studies: Sequence[tuple[str, str]], table: Grid) -> str:
    """Render the page "Methods by study".

    `studies` are pairs of a study's folder name and a description.
    """
    template = _environment().get_template("methods.html.j2")
    return template.render(title=title, text=text, studies=studies, grid=table, alone=True)


def _picture(report: Document) -> str:
    """Render the picture below the findings."""
    if isinstance(report.picture, Waterfall):
        return waterfall_svg(report.picture)
    if report.picture == "effects":
        return effects_svg(report) or slopes_svg(report)
    return deltas_svg(report) if report.picture else ""


def addresses(report: Document) -> dict[str, str]:
    """Return the URL of each item and cell by name.

    A cell that is not shown has its item's URL.
    """
    links = {}
    for section in report.sections:
        for entry in section.entries:
            links[entry.item.item] = f"{section.page}#{entry.anchor}"
            shown = {cell.address for cell in _cells(entry)}
            for name in map(entry.item.name_of, entry.item.by_id):
                address = cell_address(name)
                links[name] = f"{section.page}#{address}" if address in shown else links[entry.item.item]
    return links


def _cells(entry: ItemEntry) -> Iterator[GridCell]:
    grids = (entry.grid, entry.rest) if entry.rest else (entry.grid,)
    return (cell for grid in grids for column in grid.results for cell in column.cells if cell.address)


def search_index(report: Document) -> list[tuple[Any, ...]]:
    """Return the search index of a report.

    It has (text, URL) of items, rows and lines of pages.

    The entry of a row with published numbers also has the common start of its cells' URLs, and a dict from each number
    to the end of the URL of the first cell with it.
    """
    index: list[tuple[Any, ...]] = [
        (page.title, page.file or f"#{_slug(page.title)}") for page in report.pages
    ]
    for section in report.sections:
        index.append((section.title, section.page))
        for entry in section.entries:
            where = f"{section.key} {entry.name}"
            index.append((f"{where}: {entry.item.title}", f"{section.page}#{entry.anchor}"))
            others = (cells for _, cells in entry.rest.rows) if entry.rest else repeat([])
            for (line, shown), more in zip(entry.grid.rows, others, strict=False):
                if isinstance(line, GridLine):
                    cells = [cell for _, cell in (*shown, *more) if cell.address]
                    start = cell_address(f"{entry.item.item}/{line.row.id}")
                    numbers = {
                        cell.shown.reported.replace(MINUS, "-"): cell.address for cell in reversed(cells)
                    }
                    ends = {
                        number: address.removeprefix(start) for number, address in numbers.items() if number
                    }
                    address = f"{section.page}#{cells[0].address if cells else entry.anchor}"
                    row = (f"{where}: {line.label}", address)
                    index.append((*row, f"{section.page}#{start}", ends) if ends else row)
    for page in report.pages:
        place = page.file or f"#{_slug(page.title)}"
        for sheet in (*page.sheets, *page.further) if page.lines else ():
            index += [(f"{page.title}: {row[0]}", place) for row in sheet.rows]
    return index


def linked(text: str, links: Mapping[str, str]) -> Markup:
    """Turn each name of an item or cell in a text into a link."""
    shown = []
    for part in NAME.split(kept_whole(text)):
        address = links.get(part)
        shown.append(Markup('<a href="{}">{}</a>').format(address, part) if address else escape(part))
    return Markup("").join(shown)


def data_address(stem: Path) -> str:
    """Return a figure as a data URL: its SVG, or its PNG if the SVG is large."""
    text = stem.with_name(f"{stem.name}.svg").read_text(encoding="utf-8")
    if len(text) > LARGE:
        picture = stem.with_name(f"{stem.name}.png").read_bytes()
        return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
    # Round coordinates to a tenth of a point, which no screen can show; other numbers must stay exact.
    text = PATH.sub(lambda match: DIGITS.sub(r"\1", match[0]), text)
    return f"data:image/svg+xml,{quote(' '.join(text.split()).replace(chr(34), chr(39)), safe=UNQUOTED)}"


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
    return ";".join(
        _column_widths(column, place, table.stacked) for place, column in enumerate(table.results)
    )


def _column_widths(column: Column, place: int, stacked: bool) -> str:
    sizes = {"reported": 1.0, "reproduced": 1.0, "spread": DETAIL, "delta": DETAIL, "wide": DETAIL}
    left, right, spread, delta, wide = (
        len(column.longest(part, stacked)) * size for part, size in sizes.items()
    )
    if stacked:
        # The parenthesis of a difference may hang to the left, so that digits are aligned.
        left, right = max(left, delta - 1), max(right, spread)
        left = max(left, wide - right - ARROW)
    parts = {"left": left, "right": right, "spread": spread, "delta": delta}
    return ";".join(f"--{name}{place}:{width + 0.3:.1f}ch" for name, width in parts.items())


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", text.lower()))
