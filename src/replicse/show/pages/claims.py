"""The page of claims: each sentence with what the papers' numbers and ours say of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

from replicse.judge.judgements import JudgedClaim
from replicse.judge.report import Report
from replicse.judge.table import NOT_COMPARABLE
from replicse.printable import MINUS
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "Claims"
FEW_CELLS = 2
FOR_OR_AGAINST = ("for", "against")
# An outcome differs by its symbol too, as a verdict does.
SYMBOLS = {
    "supported": "✓",
    "contradicted": "✗",
    "for": "+",
    "against": MINUS,
    "undetermined": "?",
    "not comparable": "◇",
    "failed": "!",
    "not run": "○",
    "not printed": "–",
}
OURS = "Ours"


def claims_page(report: Report) -> Page | None:
    """Return the page, a sheet per outcome of our runs; None where no paper states a claim.

    The scale is named next to what a smaller scale found for or against a claim.
    """
    rows, scale = report.claims, report.study["scale"]
    outcomes = dict.fromkeys([*SYMBOLS, *(row.ours for row in rows)])
    parts = {outcome: [row for row in rows if row.ours == outcome] for outcome in outcomes}
    sheets = tuple(
        _without_ours(
            claims_sheet(part, f"{marked(outcome)}{_at(outcome, scale)} ({len(part)})".strip(), rows)
        )
        for outcome, part in parts.items()
        if part
    )
    text = paragraphs("claims", report.study["judges_orders"])
    notes: dict[str, tuple[str, ...]] = {}
    for row, others in ((row, contradicted(row, rows)) for row in rows):
        said = f'{row.claim}, "{row.text}" ({_outcomes(row)}),'
        notes[row.paper] = notes.get(row.paper, ()) + ((f"{said} {' and '.join(others)}.",) if others else ())
    return Page(TITLE, text, sheets, lines=True, notes=notes) if sheets else None


def contradicted(row: JudgedClaim, rows: Iterable[JudgedClaim]) -> list[str]:
    """Return which claims of other papers a claim contradicts, each with what print and our runs say of it."""
    by_name = {other.claim: other for other in rows} if row.contradicts else {}
    said = {
        name: _outcomes(by_name[name]) if name in by_name else "not in this study" for name in row.contradicts
    }
    return [f"contradicts {name} ({outcomes})" for name, outcomes in said.items()]


def _outcomes(row: JudgedClaim) -> str:
    return f"in print {row.reported}, ours {row.ours}"


def claims_sheet(rows: Iterable[JudgedClaim], title: str = TITLE, among: Iterable[JudgedClaim] = ()) -> Sheet:
    """Return one row per claim, `among` are all claims of the study."""

    def sentence(row: JudgedClaim) -> str:
        remarks = "; ".join([*filter(None, [row.remark]), *contradicted(row, among)])
        return f"{row.claim} ({row.place}): {row.text}" + (f" ({remarks})" if remarks else "")

    columns: Columns = {
        "Claim": sentence,
        "Cells": lambda row: cells_text(row.cells),
        "In print": lambda row: marked(row.reported),
        "Reproduction study": lambda row: marked(row.reproduction),
        OURS: lambda row: marked(row.ours),
        "Cells run": attrgetter("cells_run"),
        "P(weakest part holds)": lambda row: probability_text(row.probability) * (row.ours != NOT_COMPARABLE),
    }
    return Sheet.of(title, rows, columns)


def probability_text(probability: float | None) -> str:
    """Return a probability with two decimals, never as 0 or 1; nothing for none."""
    if probability is None or 0.005 <= probability < 0.995:
        return "" if probability is None else f"{probability:.2f}"
    return "< 0.01" if probability < 0.5 else "> 0.99"


def _at(outcome: str, scale: str) -> str:
    return f", at {scale}" if outcome in FOR_OR_AGAINST else ""


def _without_ours(sheet: Sheet) -> Sheet:
    """Return a sheet of one outcome of ours without that column."""
    place = sheet.header.index(OURS)
    header, *rows = (row[:place] + row[place + 1 :] for row in (sheet.header, *sheet.rows))
    return replace(sheet, header=header, rows=tuple(rows))


def marked(outcome: str) -> str:
    """Return an outcome after its symbol; nothing for none."""
    return f"{SYMBOLS[outcome]} {outcome}" if outcome else ""


def cells_text(names: Sequence[str]) -> str:
    """Return the names of a few cells, or how many cells of which items; claims.csv names them all."""
    if len(names) <= FEW_CELLS:
        return ", ".join(names)
    counts = Counter("/".join(name.split("/")[:2]) for name in names)
    return ", ".join(f"{item} ({count} cell{'s' * (count > 1)})" for item, count in counts.items())
