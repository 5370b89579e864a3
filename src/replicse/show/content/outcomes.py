"""Outcomes of claims as every format shows them: symbols, probabilities, claims that contradict each other."""

from collections.abc import Iterable

from replicse.judge.report.judgements import JudgedClaim
from replicse.printable import MINUS

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


def contradicted(row: JudgedClaim, rows: Iterable[JudgedClaim]) -> list[str]:
    """Return which claims of other papers a claim contradicts, each with what print and our runs say of it."""
    by_name = {other.claim: other for other in rows} if row.contradicts else {}
    said = {
        name: both_say(by_name[name]) if name in by_name else "not in this study" for name in row.contradicts
    }
    return [f"contradicts {name} ({outcomes})" for name, outcomes in said.items()]


def both_say(row: JudgedClaim) -> str:
    """Return what print and our runs say of a claim."""
    return f"in print {row.reported}, ours {row.ours}"


def probability_text(probability: float | None) -> str:
    """Return a probability with two decimals, never as 0 or 1; nothing for none."""
    if probability is None or 0.005 <= probability < 0.995:
        return "" if probability is None else f"{probability:.2f}"
    return "< 0.01" if probability < 0.5 else "> 0.99"


def marked(outcome: str) -> str:
    """Return an outcome after its symbol; nothing for none."""
    return f"{SYMBOLS[outcome]} {outcome}" if outcome else ""
