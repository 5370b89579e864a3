"""Group the findings of the audit by paper and format them as text."""

import textwrap
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from replicse.judge.report.judgements import NOT_AUDITED, Finding
from replicse.printable import columns, several

FEW_PLACES = 2
Rows = Sequence[Finding]
DETAILS = ("printed", "against", "follows", "certainty", "note")
WIDTH = 80


def audit_parts(rows: Rows) -> dict[str, list[Finding]]:
    """Group findings by paper, certain findings first."""
    parts: dict[str, list[Finding]] = {row.paper: [] for row in rows}
    for row in sorted(rows, key=lambda row: not row.is_certain):
        parts[row.paper].append(row)
    return parts


def few(places: Sequence[str]) -> str:
    """Join the first places and count the others."""
    text = "; ".join(places[:FEW_PLACES])
    if len(places) > FEW_PLACES:
        text += f" and {len(places) - FEW_PLACES} more"
    return text


def titled(paper: str, rows: Rows) -> str:
    """Return a heading with the number of findings about a paper."""
    count = sum(row.rule != NOT_AUDITED for row in rows)
    return f"{paper}: {several(count, 'finding')}, {sum(row.is_certain for row in rows)} certain"


def audit_text(rows: Rows, width: int = WIDTH) -> str:
    """Format findings as paragraphs below the key of each paper.

    Args:
        rows: Findings, grouped by paper.
        width: Maximum length of a line. Default: WIDTH.

    Returns:
        The text, or "nothing found" if there are no findings.
    """
    lines = []
    for paper, part in groupby(rows, key=attrgetter("paper")):
        findings = list(part)
        lines += [titled(paper, findings), ""]
        for row in findings:
            place = f"{row.place} ({row.rule})"
            lines += textwrap.wrap(place, width, initial_indent="  ", subsequent_indent="    ")
            # `follows` may already contain the numbers of `against`.
            against = few(row.against)
            if all(each in row.follows for each in row.against):
                against = ""
            texts = (row.printed, against, row.follows, row.certainty, row.note)
            details = []
            for name, text in zip(DETAILS, texts, strict=True):
                if text:
                    details.append((f"    {name}", text))
            lines += columns(details, width=width)
            lines.append("")
    return "\n".join(lines).rstrip() or "nothing found"
