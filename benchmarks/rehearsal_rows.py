"""The rows of a rehearsal: check, expected range, value and verdict."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from term_errors import NOT_FINITE

from replicse.printable import columns

MESSAGE = 300  # maximum characters of an error in a note

Verdict = Literal["ok", "outside", "skipped"]
# A check returns rows, or yields them while they are computed.
Check = Callable[[], "Iterable[Row]"]


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Args:
        what: the check.
        expected: the expected range.
        value: the value here.
        verdict: "ok", "outside" or "skipped".
        note: an explanation. Default: empty.
        numbers: dict of numbers for the JSON file. Default: empty.
    """

    what: str
    expected: str
    value: str
    verdict: Verdict
    note: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


def within(what: str, value: float, limit: float, note: str = "", **numbers: Any) -> Row:
    """Create the row of a value with an upper limit.

    Args:
        what: the check.
        value: the value.
        limit: the maximum.
        note: an explanation. Default: empty.
        numbers: additional numbers for the JSON file.
    """
    text = f"{value:.2g}" if value < NOT_FINITE else "not finite"
    return Row(what, f"≤ {limit:.3g}", text, judge(value <= limit), note, {"value": value, **numbers})


def skipped(what: str, expected: str, reason: str) -> Row:
    """Create the row of a check that cannot run on this device.

    Args:
        what: the check.
        expected: the expected range.
        reason: why the check cannot run.
    """
    return Row(what, expected, "", "skipped", reason)


def judge(is_ok: bool) -> Verdict:
    """Return the verdict "ok" or "outside"."""
    return "ok" if is_ok else "outside"


def run_checks(checks: Mapping[str, Check]) -> Iterator[Row]:
    """Run checks and yield their rows.

    If a check raises an error, a failed row with the error is yielded.

    Args:
        checks: dict from names to checks.
    """
    for name, check in checks.items():
        try:
            yield from check()
        except Exception as error:  # drivers and kernels can raise any error
            message = " ".join(f"{type(error).__name__}: {error}".split())
            yield Row(name, "no error", "failed", "outside", message[:MESSAGE])


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a table of 80 columns, with each note below its row."""
    lines: list[tuple[str, ...] | str] = [("", "check", "here", "expected")]
    for row in rows:
        lines.append((row.verdict, row.what, row.value, row.expected))
        lines += textwrap.wrap(row.note, 80, initial_indent=" " * 9, subsequent_indent=" " * 9)
    return columns(lines)
