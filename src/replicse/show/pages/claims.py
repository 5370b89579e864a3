"""The page of claims: outcomes by the papers' numbers and by ours."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

from replicse.judge.report.judgements import JudgedClaim
from replicse.judge.report.report_types import Report
from replicse.judge.verdicts.table import NOT_COMPARABLE
from replicse.printable import several
from replicse.show.content.contents import Page
from replicse.show.content.outcomes import (
    FOR_OR_AGAINST,
    SYMBOLS,
    both_say,
    contradicted,
    marked,
    probability_text,
)
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "Claims"
FEW_CELLS = 2
DECIDED = (*FOR_OR_AGAINST, "supported", "contradicted")
OURS, OTHERS = "Ours", "Others"


def claims_page(report: Report) -> Page | None:
    """Build the page with a sheet for each outcome of our runs.

    At a smaller scale, the outcomes "for" and "against" contain the name of the scale.

    Args:
        report: The report of a study.

    Returns:
        The page, or None if there are no claims.
    """
    rows, scale = report.claims, report.study["scale"]
    if not rows:
        return None
    whose = OTHERS if report.record else OURS
    sheets = []
    for outcome in dict.fromkeys([*SYMBOLS, *(row.ours for row in rows)]):
        part = [row for row in rows if row.ours == outcome]
        if part:
            title = f"{marked(outcome)}{_at(outcome, scale)} ({len(part)})".strip()
            sheets.append(_without_ours(claims_sheet(part, title, rows, whose), whose))
    text = paragraphs("claims", report.study["judges_orders"])
    notes, is_open = _contradictions(rows), _is_decided(rows)
    return Page(TITLE, text, tuple(sheets), lines=True, notes=notes, open=is_open)


def _contradictions(rows: Sequence[JudgedClaim]) -> dict[str, tuple[str, ...]]:
    """Return sentences about claims that contradict others, by paper."""
    notes: dict[str, tuple[str, ...]] = {}
    for row in rows:
        others = contradicted(row, rows)
        if others:
            note = f'{row.claim}, "{row.text}" ({both_say(row)}), {" and ".join(others)}.'
            notes[row.paper] = (*notes.get(row.paper, ()), note)
    return notes


def claims_sheet(
    rows: Iterable[JudgedClaim], title: str = TITLE, among: Iterable[JudgedClaim] = (), whose: str = OURS
) -> Sheet:
    """Create a sheet with one row for each claim.

    Args:
        rows: The claims.
        title: The title. Default: TITLE.
        among: All claims of the study, for contradictions. Default: no claims.
        whose: The heading of the outcome by our runs. Default: OURS.
    """

    def sentence(row: JudgedClaim) -> str:
        remarks = [row.remark] if row.remark else []
        remarks += contradicted(row, among)
        text = f"{row.claim} ({row.place}): {row.text}"
        if remarks:
            text += f" ({'; '.join(remarks)})"
        return text

    columns: Columns = {
        "Claim": sentence,
        "Cells": lambda row: cells_text(row.cells),
        "In print": lambda row: marked(row.reported),
        "Reproduction study": lambda row: marked(row.reproduction),
        whose: lambda row: marked(row.ours),
        "Cells run": attrgetter("cells_run"),
        "P(weakest part is true)": lambda row: (
            probability_text(row.probability) * (row.ours != NOT_COMPARABLE)
        ),
        "Numbers": attrgetter("reason"),
    }
    return Sheet.of(title, rows, columns)


def _is_decided(rows: Iterable[JudgedClaim]) -> bool:
    """Return whether a claim has an outcome for or against it."""
    return any(row.ours in DECIDED for row in rows)


def _at(outcome: str, scale: str) -> str:
    if outcome in FOR_OR_AGAINST:
        return f", at {scale}"
    return ""


def _without_ours(sheet: Sheet, whose: str) -> Sheet:
    """Remove the column of our outcomes, which are equal in the sheet."""
    place = sheet.header.index(whose)
    header = sheet.header[:place] + sheet.header[place + 1 :]
    rows = [row[:place] + row[place + 1 :] for row in sheet.rows]
    return replace(sheet, header=header, rows=tuple(rows))


def cells_text(names: Sequence[str]) -> str:
    """List a few cells, or count many cells by item.

    The file claims.csv contains all names.
    """
    if len(names) <= FEW_CELLS:
        return ", ".join(names)
    counts = Counter("/".join(name.split("/")[:2]) for name in names)
    return ", ".join(f"{item} ({several(count, 'cell')})" for item, count in counts.items())
