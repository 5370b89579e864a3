"""The audit of the printed numbers, as a page of the report and as text for a terminal."""

import textwrap
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from replicse.judge.judgements import NOT_AUDITED, Finding
from replicse.judge.report import Report
from replicse.printable import columns, several
from replicse.registry.artefacts import AUDIT
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "What the papers' own numbers say"
COLUMNS: Columns = {
    "In print": lambda row: f"{row.place}: {row.printed or row.rule}",
    "Against": lambda row: few(row.against),
    "Arithmetic": attrgetter("follows"),
    "How certain": attrgetter("certainty"),
    "Note": attrgetter("note"),
}
FEW_PLACES = 2
Rows = Sequence[Finding]
DETAILS = ("printed", "against", "follows", "certainty", "note")
WIDTH = 80


def audit_page(report: Report) -> Page:
    """Return the page, a sheet per paper: those of the study, then `further` ones."""
    papers = {item.paper for item in report.items}
    sheets = {
        paper: audit_sheet(part, _title(paper, part)) for paper, part in audit_parts(report.audit).items()
    }
    own = tuple(sheet for paper, sheet in sheets.items() if paper in papers)
    further = tuple(sheet for paper, sheet in sheets.items() if paper not in papers)
    text, of = paragraphs("audit", bool(report.audit)), "printed numbers, no run"
    return Page(TITLE, text, own, file=AUDIT, further=further, lines=True, of=of)


def audit_parts(rows: Rows) -> dict[str, list[Finding]]:
    """Return the findings by paper, certain ones first."""
    ordered = sorted(rows, key=lambda row: not row.is_certain)
    papers = dict.fromkeys(row.paper for row in rows)
    return {paper: [row for row in ordered if row.paper == paper] for paper in papers}


def audit_sheet(rows: Rows, title: str = TITLE) -> Sheet:
    """Return one line per finding, and one for what is not audited."""
    return Sheet.of(title, rows, COLUMNS)


def few(places: Sequence[str]) -> str:
    """Return the first of some places, and how many more there are."""
    more = len(places) - FEW_PLACES
    return "; ".join(places[:FEW_PLACES]) + (f" and {more} more" if more > 0 else "")


def _title(paper: str, rows: Rows) -> str:
    count = sum(row.rule != NOT_AUDITED for row in rows)
    return f"{paper}: {several(count, 'finding')}, {sum(row.is_certain for row in rows)} certain"


def audit_text(rows: Rows, width: int = WIDTH) -> str:
    """Return the findings as paragraphs under the key of their paper."""
    lines = []
    for paper, part in groupby(rows, key=attrgetter("paper")):
        findings = list(part)
        lines += [_title(paper, findings), ""]
        for row in findings:
            place = f"{row.place} ({row.rule})"
            lines += textwrap.wrap(place, width, initial_indent="  ", subsequent_indent="    ")
            # What the arithmetic names itself is not said again.
            against = "" if all(each in row.follows for each in row.against) else few(row.against)
            texts = (row.printed, against, row.follows, row.certainty, row.note)
            details = zip(DETAILS, texts, strict=True)
            lines += columns(((f"    {name}", text) for name, text in details if text), width=width)
            lines.append("")
    return "\n".join(lines).rstrip() or "nothing found"
