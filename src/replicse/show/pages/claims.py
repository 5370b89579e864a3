"""The page of claims: each sentence with what the papers' numbers and ours say of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

from replicse.judge.report.judgements import JudgedClaim
from replicse.judge.report.report_types import Report
from replicse.judge.verdicts.table import NOT_COMPARABLE
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
    """Return the page, a sheet per outcome of our runs; None where no paper states a claim.

    The scale is named next to what a smaller scale found for or against a claim.
    """
    rows, scale = report.claims, report.study["scale"]
    whose = OTHERS if report.record else OURS
    outcomes = dict.fromkeys([*SYMBOLS, *(row.ours for row in rows)])
    parts = {outcome: [row for row in rows if row.ours == outcome] for outcome in outcomes}
    sheets = tuple(
        _without_ours(
            claims_sheet(part, f"{marked(outcome)}{_at(outcome, scale)} ({len(part)})".strip(), rows, whose),
            whose,
        )
        for outcome, part in parts.items()
        if part
    )
    text = paragraphs("claims", report.study["judges_orders"])
    notes: dict[str, tuple[str, ...]] = {}
    for row, others in ((row, contradicted(row, rows)) for row in rows):
        said = f'{row.claim}, "{row.text}" ({both_say(row)}),'
        notes[row.paper] = notes.get(row.paper, ()) + ((f"{said} {' and '.join(others)}.",) if others else ())
    return Page(TITLE, text, sheets, lines=True, notes=notes, open=_is_decided(rows)) if sheets else None


def claims_sheet(
    rows: Iterable[JudgedClaim], title: str = TITLE, among: Iterable[JudgedClaim] = (), whose: str = OURS
) -> Sheet:
    """Return one row per claim, `among` are all claims of the study, `whose` heads the outcome of our runs."""

    def sentence(row: JudgedClaim) -> str:
        remarks = "; ".join([*filter(None, [row.remark]), *contradicted(row, among)])
        return f"{row.claim} ({row.place}): {row.text}" + (f" ({remarks})" if remarks else "")

    columns: Columns = {
        "Claim": sentence,
        "Cells": lambda row: cells_text(row.cells),
        "In print": lambda row: marked(row.reported),
        "Reproduction study": lambda row: marked(row.reproduction),
        whose: lambda row: marked(row.ours),
        "Cells run": attrgetter("cells_run"),
        "P(weakest part holds)": lambda row: probability_text(row.probability) * (row.ours != NOT_COMPARABLE),
        "Numbers": attrgetter("reason"),
    }
    return Sheet.of(title, rows, columns)


def _is_decided(rows: Iterable[JudgedClaim]) -> bool:
    """Return whether our runs are for or against a claim, or settle it."""
    return any(row.ours in DECIDED for row in rows)


def _at(outcome: str, scale: str) -> str:
    return f", at {scale}" if outcome in FOR_OR_AGAINST else ""


def _without_ours(sheet: Sheet, whose: str) -> Sheet:
    """Return a sheet of one outcome of ours without that column."""
    place = sheet.header.index(whose)
    header, *rows = (row[:place] + row[place + 1 :] for row in (sheet.header, *sheet.rows))
    return replace(sheet, header=header, rows=tuple(rows))


def cells_text(names: Sequence[str]) -> str:
    """Return the names of a few cells, or how many cells of which items; claims.csv names them all."""
    if len(names) <= FEW_CELLS:
        return ", ".join(names)
    counts = Counter("/".join(name.split("/")[:2]) for name in names)
    return ", ".join(f"{item} ({count} cell{'s' * (count > 1)})" for item, count in counts.items())
