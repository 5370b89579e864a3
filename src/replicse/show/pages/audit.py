"""The audit of the printed numbers, as a page of the report and as text for a terminal."""

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from replicse.printable import columns, several
from replicse.registry.artefacts import AUDIT
from replicse.show.content.contents import Page
from replicse.show.content.tables import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "What the papers' own numbers say"
NOT_AUDITED = "not audited"  # a rule that names what the others could not read
COLUMNS: Columns = {
    "In print": lambda row: f"{row['place']}: {row['printed'] or row['rule']}",
    "Against": lambda row: against(row),
    "Arithmetic": itemgetter("follows"),
    "How certain": itemgetter("certainty"),
    "Note": itemgetter("note"),
}
# Where a contradicting number is printed: [Table 4, Word deletion 10%, STS-B dev], or parentheses at the end.
BRACKETED = re.compile(r"\[([^\]]*)\]")
LAST = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)$")
FEW_PLACES = 2
Rows = Sequence[Mapping[str, str]]
SHOWN = ("printed", "against", "follows", "certainty", "note")
WIDTH = 80


def audit_page(rows: Rows, papers: Collection[str]) -> Page:
    """Return the page from the rows of audit.csv, a sheet per paper: those of the study, then `further` ones."""
    text = paragraphs("audit", bool(rows))
    sheets = {paper: audit_sheet(part, _title(paper, part)) for paper, part in audit_parts(rows).items()}
    own = tuple(sheet for paper, sheet in sheets.items() if paper in papers)
    further = tuple(sheet for paper, sheet in sheets.items() if paper not in papers)
    return Page(TITLE, text, own, file=AUDIT, further=further, lines=True)


def audit_parts(rows: Rows) -> dict[str, list[Mapping[str, str]]]:
    """Return the findings by paper, certain ones first."""
    ordered = sorted(rows, key=lambda row: not is_certain(row))
    papers = dict.fromkeys(row["paper"] for row in rows)
    return {paper: [row for row in ordered if row["paper"] == paper] for paper in papers}


def is_certain(row: Mapping[str, str]) -> bool:
    """Return whether no rounding explains a finding."""
    return row["certainty"] == "certain"


def audit_sheet(rows: Rows, title: str = TITLE) -> Sheet:
    """Return one line per finding, and one for what is not audited."""
    return Sheet.of(title, rows, COLUMNS)


def against(row: Mapping[str, str]) -> str:
    """Return the places of the numbers that contradict a finding's own, which most rules name within the arithmetic."""
    places = list(dict.fromkeys(BRACKETED.findall(row["follows"]) or LAST.findall(row["follows"])))
    more = len(places) - FEW_PLACES
    named = "; ".join(places[:FEW_PLACES]) + (f" and {more} more" if more > 0 else "")
    return row.get("against") or named or ("the data" if "counted on the data" in row["follows"] else "")


def _title(paper: str, rows: Rows) -> str:
    count = sum(row["rule"] != NOT_AUDITED for row in rows)
    return f"{paper}: {several(count, 'finding')}, {sum(map(is_certain, rows))} certain"


def audit_text(rows: Rows, width: int = WIDTH) -> str:
    """Return the findings as paragraphs under the key of their paper."""
    lines = []
    for paper, part in groupby(rows, key=lambda row: row["paper"]):
        findings = list(part)
        lines += [_title(paper, findings), ""]
        for row in findings:
            place = f"{row['place']} ({row['rule']})"
            lines += textwrap.wrap(place, width, initial_indent="  ", subsequent_indent="    ")
            details = ((f"    {name}", row[name]) for name in SHOWN if row.get(name))
            lines += columns(details, width=width)
            lines.append("")
    return "\n".join(lines).rstrip() or "nothing found"
