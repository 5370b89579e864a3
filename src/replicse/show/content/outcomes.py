"""Format outcomes of claims."""

from collections.abc import Iterable

from replicse.judge.report.judgements import JudgedClaim
from replicse.printable import MINUS

FOR_OR_AGAINST = ("for", "against")
# Symbols that distinguish outcomes without colour.
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
    """List the claims of other papers that a claim contradicts.

    Args:
        row: The claim.
        rows: All claims of the study.

    Returns:
        A list of strings such as `contradicts simcse/dropout (in print supported, ours for)`.
    """
    if not row.contradicts:
        return []
    by_name = {other.claim: other for other in rows}
    lines = []
    for name in row.contradicts:
        outcomes = "not in this study"
        if name in by_name:
            outcomes = both_say(by_name[name])
        lines.append(f"contradicts {name} ({outcomes})")
    return lines


def both_say(row: JudgedClaim) -> str:
    """Return the outcomes of a claim by the published numbers and by our runs."""
    return f"in print {row.reported}, ours {row.ours}"


def probability_text(probability: float | None) -> str:
    """Format a probability with two decimals, but never as 0 or 1.

    Return "" for None.
    """
    if probability is None:
        return ""
    if 0.005 <= probability < 0.995:
        return f"{probability:.2f}"
    return "< 0.01" if probability < 0.5 else "> 0.99"


def marked(outcome: str) -> str:
    """Put the symbol before an outcome; return "" without an outcome."""
    if not outcome:
        return ""
    return f"{SYMBOLS[outcome]} {outcome}"
