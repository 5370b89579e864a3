"""The audit of the printed numbers, as a page of the report and as text for a terminal."""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from replicse.printable import columns
from replicse.report.content.contents import Page
from replicse.report.content.tables import Columns, Sheet

TITLE = "Audit"
TEXT = (
    "What the printed numbers contradict by themselves: averages against their rows, differences against two papers,"
    " one number printed twice, percentages that no count of test items gives, sizes against the data sets, numbers of"
    " the running text and sentences against tables, values against the search that they come from, single runs against"
    " published seeds. Nothing was trained for it. *Certain* is what no rounding explains; else the column says what"
    " would. A number marked as quoted is the paper's quotation of somebody else, and so may be the mistake. A paper's"
    " own findings are before those on quotations, certain ones before others.",
)
COLUMNS: Columns = {
    "Where": itemgetter("place"),
    "Printed": lambda row: row["printed"] or row["rule"],
    "What follows": itemgetter("follows"),
    "How certain": itemgetter("certainty"),
    "Note": itemgetter("note"),
}
SHOWN = ("printed", "follows", "certainty", "note")


def audit_page(rows: Sequence[Mapping[str, str]]) -> Page:
    """Return the page from the rows of audit.csv, a sheet per paper."""
    sheets = (audit_sheet(list(part), paper) for paper, part in groupby(rows, key=lambda row: row["paper"]))
    return Page(TITLE, TEXT if rows else (*TEXT, "Nothing was found."), tuple(sheets))


def audit_sheet(rows: Sequence[Mapping[str, str]], title: str = TITLE) -> Sheet:
    """Return one line per finding, and one for what is not audited."""
    return Sheet.of(title, rows, COLUMNS)


def audit_text(rows: Sequence[Mapping[str, str]], width: int = 80) -> str:
    """Return the findings as paragraphs under the key of their paper."""
    lines = []
    for paper, part in groupby(rows, key=lambda row: row["paper"]):
        findings = list(part)
        certain = sum(row["certainty"] == "certain" for row in findings)
        count = sum(row["rule"] != "not audited" for row in findings)
        lines += [f"{paper}: {count} finding{'s' * (count != 1)}, {certain} certain", ""]
        for row in findings:
            place = f"{row['place']} ({row['rule']})"
            lines += textwrap.wrap(place, width, initial_indent="  ", subsequent_indent="    ")
            details = ((f"    {name}", row[name]) for name in SHOWN if row[name])
            lines += columns(details, width=width)
            lines.append("")
    return "\n".join(lines).rstrip() or "nothing found"
