"""The rows of a rehearsal: check, expected range, value and verdict."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from term_errors import NOT_FINITE

from replicse.printable import columns

MESSAGE = 300  # characters of an error in the note

Verdict = Literal["ok", "outside", "skipped"]
# The rows of a check, computed one after another.
Check = Callable[[], "Iterable[Row]"]


@dataclass(frozen=True)
class Row:
    """Check, expected range, value, verdict, note and raw numbers."""

    what: str
    expected: str
    value: str
    verdict: Verdict
    note: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


def within(what: str, value: float, limit: float, note: str = "", **numbers: Any) -> Row:
    """Return the row of a value with an upper limit."""
    text = f"{value:.2g}" if value < NOT_FINITE else "not finite"
    return Row(what, f"≤ {limit:.3g}", text, judge(value <= limit), note, {"value": value, **numbers})


def skipped(what: str, expected: str, reason: str) -> Row:
    """Return the row of a check that cannot run here."""
    return Row(what, expected, "", "skipped", reason)


def judge(is_ok: bool) -> Verdict:
    """Return the verdict of a check that ran."""
    return "ok" if is_ok else "outside"


def run_checks(checks: Mapping[str, Check]) -> Iterator[Row]:
    """Yield the rows of some checks; a check that raises fails.

    Its row contains the error.
    """
    for name, check in checks.items():
        try:
            yield from check()
        except Exception as error:  # any error of a driver or a kernel
            message = " ".join(f"{type(error).__name__}: {error}".split())
            yield Row(name, "no error", "failed", "outside", message[:MESSAGE])


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a table of 80 columns, with each note below its row."""
    lines: list[tuple[str, ...] | str] = [("", "check", "here", "expected")]
    for row in rows:
        lines.append((row.verdict, row.what, row.value, row.expected))
        lines += textwrap.wrap(row.note, 80, initial_indent=" " * 9, subsequent_indent=" " * 9)
    return columns(lines)
