"""The page with contradictions between published numbers."""

from operator import attrgetter

from replicse.judge.report.report_types import Report
from replicse.registry.artefacts import AUDIT
from replicse.show.content.audited import Rows, audit_parts, few, titled
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "Audit of the printed numbers"
COLUMNS: Columns = {
    "In print": lambda row: f"{row.place}: {row.printed or row.rule}",
    "Against": lambda row: few(row.against),
    "Arithmetic": attrgetter("follows"),
    "How certain": attrgetter("certainty"),
    "Note": attrgetter("note"),
}


def audit_page(report: Report) -> Page:
    """Build the page with a sheet for each paper.

    Papers outside the study are in the `further` sheets.
    """
    papers = {item.paper for item in report.items}
    own: list[Sheet] = []
    further: list[Sheet] = []
    for paper, part in audit_parts(report.audit).items():
        sheet = audit_sheet(part, titled(paper, part))
        if paper in papers:
            own.append(sheet)
        else:
            further.append(sheet)
    text, of = paragraphs("audit", bool(report.audit)), "printed numbers, without runs"
    return Page(TITLE, text, tuple(own), file=AUDIT, further=tuple(further), lines=True, of=of)


def audit_sheet(rows: Rows, title: str = TITLE) -> Sheet:
    """Create a sheet of findings and of parts that are not audited.

    The default title is the title of the page.
    """
    return Sheet.of(title, rows, COLUMNS)
