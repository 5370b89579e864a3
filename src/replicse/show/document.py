"""Write the report of a study as Markdown, LaTeX and HTML."""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from replicse.compile.job import DRAWINGS
from replicse.errors import BadInput, MissingData
from replicse.files import link, read_text, write_text
from replicse.judge.report.methods import Methods
from replicse.judge.report.report_types import Report
from replicse.registry.artefacts import HTML, MACROS, MARKDOWN, TEX
from replicse.show.content.contents import Document, Surroundings, Waterfall, make_document
from replicse.show.content.texts import paragraphs
from replicse.show.formats import html, latex, markdown
from replicse.show.pages.adjudication import adjudication_page
from replicse.show.pages.audit import audit_page
from replicse.show.pages.causes import causes_page
from replicse.show.pages.claims import claims_page
from replicse.show.pages.costs import seconds_picture
from replicse.show.pages.findings import findings
from replicse.show.pages.incomplete import incomplete_page
from replicse.show.pages.methods import TITLE, methods_grid, study_lines
from replicse.show.pages.reproduces import reproduces_page
from replicse.show.pages.the_record import record_headlines, record_page

log = logging.getLogger(__name__)


def whole_document(report: Report, around: Surroundings) -> Document:
    """Build the document of a report with all its pages.

    Args:
        report: The report of a study.
        around: Texts and links for the files around the document.

    Returns:
        A document that every format can render.
    """
    candidates = (
        record_page(report),
        incomplete_page(report),
        reproduces_page(report),
        claims_page(report),
        adjudication_page(report),
        audit_page(report),
        causes_page(report),
    )
    picture: str | Waterfall = ""
    if report.seconds:
        picture = seconds_picture(report.seconds)
    pages = list(filter(None, candidates))
    headlines = list(record_headlines(report)) if report.record else findings(report)
    return make_document(report, pages, headlines, around, picture)


def write_report(folder: Path, report: Document, drawings: Mapping[str, Path] | None = None) -> list[Path]:
    """Write the report, an HTML page for each paper, and the tables.

    Args:
        folder: The folder to write to.
        report: The document.
        drawings: A dict from item ids to paths of figures without a suffix. Default: no figures.

    Returns:
        A list of all written files.

    Raises:
        MissingData: If a figure does not exist.
        BadInput: If a figure is truncated.
    """
    start = time.monotonic()
    items = [entry.item.item for section in report.sections for entry in section.entries]
    drawings = drawings or {}
    for item, stem in drawings.items():
        _check_drawing(item, stem)

    def pictures(address: Callable[[Path], str]) -> dict[str, str]:
        found = dict.fromkeys(items, "")
        for item, stem in drawings.items():
            if item in found:
                found[item] = address(stem)
        return found

    addresses = pictures(html.data_address)
    beside = {}
    for page in report.pages:
        if page.file:
            beside[page.file] = html.page(report, page, addresses)
    for section in report.sections:
        beside[section.page] = html.paper(report, section, addresses)
    written = [folder / MARKDOWN, folder / TEX, folder / HTML, *map(folder.joinpath, beside)]
    written += write_tables(folder / "tables", report)
    write_text(folder / MARKDOWN, markdown.document(report, pictures(partial(_relative, folder, "svg"))))
    write_text(folder / TEX, latex.document(report, pictures(partial(_relative, folder, "pdf"))))
    # Write report.html last: if it exists, the report is complete.
    for name, text in {**beside, HTML: html.document(report)}.items():
        write_text(folder / name, text)
    seconds = time.monotonic() - start
    log.info(
        "event=report items=%d folder=%s files=%d seconds=%.1f", len(items), folder, len(written), seconds
    )
    return written


def write_tables(folder: Path, report: Document) -> list[Path]:
    """Write each table as `<paper>/<item>.tex` and .md, and macros.tex.

    Args:
        folder: The folder to write to.
        report: The document.

    Returns:
        A list of the written files.
    """
    written = [folder / MACROS]
    write_text(written[0], latex.macros())
    for section in report.sections:
        for entry in section.entries:
            tex, md = folder / f"{entry.item.item}.tex", folder / f"{entry.item.item}.md"
            write_text(tex, latex.table(entry))
            write_text(md, markdown.table(entry))
            written += [tex, md]
    return written


def write_page(out: Path, report: Report, drawing: Path | None) -> None:
    """Write a report with one item as an HTML page and a LaTeX table.

    Args:
        out: Path of the HTML page; the LaTeX file has the same path with the suffix .tex.
        report: A report with one item.
        drawing: Path of the item's figure without a suffix, or None.

    Raises:
        MissingData: If the figure does not exist.
        BadInput: If the figure is truncated.
    """
    (item,) = report.items
    pictures = {item.item: ""}
    if drawing:
        _check_drawing(item.item, drawing)
        pictures[item.item] = html.data_address(drawing)
    document = make_document(report)
    (section,) = document.sections
    write_text(out, html.paper(document, section, pictures, alone=True))
    write_text(out.with_suffix(".tex"), latex.table_alone(section.entries[0]))


def write_methods(out: Path, methods: Methods) -> None:
    """Write the page "Methods by study" as HTML and Markdown.

    Args:
        out: Path of the HTML page; the Markdown file has the same path with the suffix .md.
        methods: The methods and their results.
    """
    text = paragraphs("methods", methods.shared.label)
    studies, table = study_lines(methods), methods_grid(methods)
    write_text(out, html.methods(TITLE, text, studies, table))
    lines = [f"- [{name}]({name}/report.md): {about}" for name, about in studies]
    write_text(
        out.with_suffix(".md"),
        "\n\n".join([f"# {TITLE}", *text, "\n".join(lines), markdown.grid(table)]) + "\n",
    )


def _check_drawing(item: str, stem: Path) -> None:
    for suffix in DRAWINGS:
        path = stem.with_name(f"{stem.name}.{suffix}")
        if not path.exists():
            raise MissingData(f"{path} does not exist; draw the figure of {item} first")
    drawing = stem.with_name(f"{stem.name}.svg")
    if not read_text(drawing).rstrip().endswith("</svg>"):
        raise BadInput(f"{drawing}: truncated; delete the file and draw the figure of {item} again")


def _relative(folder: Path, suffix: str, stem: Path) -> str:
    return link(f"{stem}.{suffix}", folder)
