"""Printed numbers: what a paper prints in a cell, exactly as text, and what that text says."""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from replicse.checked import Checked, Count, read_text
from replicse.errors import BadInput, MissingData, nearest

REPORTED_FIELDS = ("item", "row", "column", "metric", "value", "source", "note")
SPREAD_FIELDS = ("statistic", "seeds", "sd")
ABSENT = ("", "-", "–", "—", "−", "n/a")
UNITS = {"": 0, "k": 3, "m": 6, "b": 9}
NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?"
PRINTED = re.compile(
    r"(?P<sign>[-+−–]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?:\.(?P<fraction>\d*))?"
    r"(?:[eE](?P<exponent>[-+−]?\d{1,3}))?\s*(?P<unit>[kKmMbB]?)%?[*†‡]*(?:\s*(?:±|\+/-)\s*(?P<sd>\d+\.?\d*))?"
    r"(?:\s*\(.*\))?"
)
Statistic = Literal["single", "mean", "max", "min", "median", "percentile", "sd"]


class PrintedNumber(NamedTuple):
    """A number as a paper prints it, and half a unit of its last digit: `82.5` is 82.5 and 0.05."""

    value: float
    half_digit: float


class Reported(Checked):
    """One printed cell: its value as text, its place, a note, and which statistic of how many runs it is.

    `single` is one run, the usual case; `sd` is the standard deviation over the `seeds` runs, where it is printed.
    """

    value: str
    source: str
    note: str = ""
    statistic: str = "single"
    seeds: Count | None = None
    sd: float | None = None

    @property
    def number(self) -> PrintedNumber | None:
        """Return the number; None where none is printed."""
        return printed_number(self.value)


def printed_number(text: str | None) -> PrintedNumber | None:
    """Return the number in a printed cell: 82.5, 3e-5, 110M, 1,500, 75.1 ± 0.8; None for an absent one.

    Raises BadInput for any other text, and for a number that is not finite.
    """
    stripped = (text or "").strip()
    if stripped.lower() in ABSENT:
        return None
    match = PRINTED.fullmatch(stripped)
    if not match or not (match["whole"] or match["fraction"]):
        raise BadInput(f'reported value "{text}" is no number; print it as in 82.5, 3e-5, 110M or 1,500')
    fraction = match["fraction"] or ""
    exponent = int((match["exponent"] or "0").replace("−", "-")) + UNITS[match["unit"].lower()]
    sign = "-" if match["sign"] in ("-", "−", "–") else ""
    last = exponent - len(fraction)
    value, half = float(f"{sign}{match['whole'].replace(',', '')}{fraction}e{last}"), float(f"5e{last - 1}")
    if not math.isfinite(value) or (half == 0):
        raise BadInput(f'reported value "{text}" is beyond all numbers; print it as in 82.5 or 3e-5')
    return PrintedNumber(value, half)
