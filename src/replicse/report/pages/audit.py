"""The audit of the printed numbers, as a page of the report and as text for a terminal."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from replicse.report.content.contents import Page
from replicse.report.content.tables import Sheet

TITLE = "Audit"
TEXT = (
    "What the printed numbers contradict by themselves: averages against their rows, differences against two papers,"
    " one number printed twice, percentages that no count of test items gives, sizes against the data sets, sentences"
    " against tables. Nothing was trained for it. *Certain* is what no rounding explains; else the column says what"
    " would. A number marked as quoted is the paper's quotation of somebody else, and so may be the mistake.",
)
HEADER = ("Place", "Cell", "Printed", "What follows", "How certain", "Note")


def audit_page(rows: Sequence[Mapping[str, str]]) -> Page:
    """Return the page from the rows of audit.csv, a sheet per paper."""
    sheets = (audit_sheet(list(part), paper) for paper, part in groupby(rows, key=lambda row: row["paper"]))
    return Page(TITLE, TEXT if rows else (*TEXT, "Nothing was found."), tuple(sheets))


def audit_sheet(rows: Sequence[Mapping[str, str]], title: str = TITLE) -> Sheet:
    """Return one line per finding."""
    lines = tuple(
        (
            row["place"],
            subject(row["cells"].split("; ")[0]),
            row["printed"],
            row["follows"],
            row["certainty"],
            row["note"],
        )
        for row in rows
    )
    return Sheet(title, HEADER, lines)


def audit_text(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the findings as paragraphs under the key of their paper."""
    lines = []
    for paper, part in groupby(rows, key=lambda row: row["paper"]):
        own = list(part)
        certain = sum(row["certainty"] == "certain" for row in own)
        lines += [f"{paper}: {len(own)} finding{'s' * (len(own) > 1)}, {certain} certain", ""]
        for row in own:
            lines.append(f"  {row['place']}: {subject(row['cells'].split('; ')[0])} ({row['rule']})")
            told = {name: row[name] for name in ("printed", "follows", "certainty", "note")}
            lines += [f"    {name:<11}{text}" for name, text in told.items() if text]
            lines.append("")
    return "\n".join(lines).rstrip() or "nothing found"


def subject(name: str) -> str:
    """Return `row / column` of a cell's name, or the id of a claim's."""
    parts = name.split("/")
    return " / ".join(parts[2:4] or parts[1:])
