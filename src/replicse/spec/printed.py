"""Reported numbers: the string in a cell, and the parsed number."""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, FiniteFloat

from replicse.checked import Checked
from replicse.errors import BadInput
from replicse.files import numbered_rows
from replicse.spec.cell_id import CellId

REPORTED_FIELDS = ("item", "row", "column", "metric", "value", "source", "note")
SPREAD_FIELDS = ("statistic", "q", "seeds", "sd")
ABSENT = ("", "-", "–", "—", "−", "n/a")
UNITS = {"": 0, "k": 3, "m": 6, "b": 9}
PRINTED = re.compile(
    r"(?P<sign>[-+−–]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?:\.(?P<fraction>\d*))?"
    r"(?:[eE](?P<exponent>[-+−]?\d{1,3}))?\s*(?P<unit>[kKmMbB]?)%?[*†‡]*(?:\s*(?:±|\+/-)\s*(?P<sd>\d+\.?\d*))?"
    r"(?:\s*\(.*\))?"
)
Statistic = Literal["single", "mean", "max", "min", "median", "percentile", "sd"]


class Rounding(NamedTuple):
    """The format of a reported number.

    The number has `decimals` in units of `unit` (k, M, B), or in powers of ten. By default, it has no unit and no
    commas.
    """

    decimals: int
    unit: str = ""
    commas: bool = False
    scientific: bool = False

    @property
    def factor(self) -> int:
        """Return the value of the unit: 1,000 for k."""
        return int(10 ** UNITS[self.unit.lower()])


@dataclass(frozen=True)
class Rounded:
    """A number with half a unit of the last digit: `82.5` is 82.5 and 0.05."""

    value: float
    half_digit: float

    @property
    def exact(self) -> Fraction:
        """Return the number as a fraction, without binary rounding."""
        return _exact(self.value)

    @property
    def half(self) -> Fraction:
        """Return half a unit of the last digit as a fraction."""
        return _exact(self.half_digit)

    def text(self, value: Fraction) -> str:
        """Format another number with as many decimals as this number.

        Args:
            value: the other number.
        """
        unit = 2 * self.half
        decimals = max(0, round(-math.log10(unit)))
        return f"{float(round(value / unit) * unit):.{decimals}f}"

    def agrees(self, other: "Rounded") -> bool:
        """Return whether two numbers are equal within their rounding."""
        return abs(self.exact - other.exact) <= max(self.half, other.half)

    def share_of(self, items: int) -> bool:
        """Return whether this percentage is an integer number of items.

        Args:
            items: the total number of items.
        """
        nearest_count = round(self.exact * items / 100)
        return abs(Fraction(100 * nearest_count, items) - self.exact) <= self.half


@dataclass(frozen=True)
class PrintedNumber(Rounded):
    """A reported number as a paper formats it.

    `sd` is the standard deviation after `±` as a string; by default, it is empty.
    """

    rounding: Rounding
    sd: str = ""


@cache
def _exact(number: float) -> Fraction:
    return Fraction(repr(number))


class Spread(NamedTuple):
    """A standard deviation with degrees of freedom.

    The degrees are the number of runs minus one. By default, they are infinite: the standard deviation is not
    estimated.
    """

    sd: float
    degrees: float = math.inf


class Reported(Checked):
    """A reported cell: value as a string, place, note, statistic over runs.

    `statistic` is `single` by default, the value of one run. `sd` is the published standard deviation over `seeds`
    runs of one laboratory; only such a spread is used for other cells.
    """

    value: str
    source: str
    note: str = ""
    statistic: Statistic = "single"
    seeds: Annotated[int, Field(ge=1)] | None = None
    q: Annotated[FiniteFloat, Field(ge=0, le=100)] | None = None
    sd: Annotated[FiniteFloat, Field(gt=0)] | None = None

    @property
    def number(self) -> PrintedNumber | None:
        """Return the number; None if the value is not a number."""
        return parse_number(self.value)

    @property
    def spread(self) -> Spread | None:
        """Return the published spread over seeds; None if it is not published."""
        if not self.sd or not self.seeds or self.seeds < 2:
            return None
        return Spread(self.sd, self.seeds - 1)


@cache
def parse_number(text: str) -> PrintedNumber | None:
    """Parse a reported number.

    Args:
        text: a string such as "82.5", "3e-5", "110M", "1,500" or "75.1 ± 0.8".

    Returns:
        The number; None if the string is not a number.
    """
    match = PRINTED.fullmatch(text.strip())
    if not match or not (match["whole"] or match["fraction"]):
        return None
    fraction, unit = match["fraction"] or "", match["unit"]
    exponent = int((match["exponent"] or "0").replace("−", "-")) + UNITS[unit.lower()]
    sign = "-" if match["sign"] in ("-", "−", "–") else ""
    last = exponent - len(fraction)
    value, half = float(f"{sign}{match['whole'].replace(',', '')}{fraction}e{last}"), float(f"5e{last - 1}")
    if not math.isfinite(value) or half == 0:
        return None
    rounding = Rounding(len(fraction), unit, "," in match["whole"], match["exponent"] is not None)
    return PrintedNumber(value, half, rounding, match["sd"] or "")


def read_reported(path: Path) -> dict[CellId, Reported]:
    """Load the reported.csv of a paper.

    The optional fields `statistic,q,seeds,sd` after the seven required fields describe the statistic over runs. A
    value such as 75.11 ± 0.84 is a mean with a standard deviation; it requires the number of seeds.

    Args:
        path: the path of reported.csv; the folder is the key of the paper.

    Returns:
        A dict from cells to reported numbers.

    Raises:
        BadInput: if a line is not valid; the error names the line.
    """
    result: dict[CellId, Reported] = {}
    for line, entry in numbered_rows(path):
        if tuple(entry) not in (REPORTED_FIELDS, (*REPORTED_FIELDS, *SPREAD_FIELDS)):
            header = ",".join(entry)
            raise BadInput(f'{path}:1: the header is "{header}"; expected {",".join(REPORTED_FIELDS)}')
        location = f"{path}:{line}"
        cell = CellId(f"{path.parent.name}/{entry['item']}", entry["row"], entry["column"], entry["metric"])
        if cell in result:
            raise BadInput(f"{location}: {entry['item']}/{cell.place} is given twice; remove the duplicate")
        result[cell] = _reported(entry, location)
    return result


def _reported(entry: dict[str, str], location: str) -> Reported:
    for name in ("item", "row", "column", "source"):
        if not entry[name].strip():
            wanted = "the place of the number" if name == "source" else name
            raise BadInput(f"{location}: {name} is empty; add {wanted}")
    number = parse_number(entry["value"])
    absent = entry["value"].strip().lower() in ABSENT
    if number is None and entry["metric"] != "text" and not absent:
        raise BadInput(
            f'{location}: reported value "{entry["value"]}" is not a number such as 82.5, 3e-5, 110M or 1,500;'
            " correct it, or use the metric text"
        )
    spread = {name: entry[name] for name in SPREAD_FIELDS if entry.get(name)}
    if number and number.sd:
        if spread.setdefault("sd", number.sd) != number.sd:
            raise BadInput(
                f'{location}: value is "{entry["value"]}", but sd is "{spread["sd"]}"; correct value or sd'
            )
        spread.setdefault("statistic", "mean")
        if "seeds" not in spread:
            raise BadInput(
                f'{location}: value is "{entry["value"]}"; add the number of runs in the column seeds'
            )
    reported = Reported.of(
        {"value": entry["value"], "source": entry["source"], "note": entry["note"], **spread}, location
    )
    if (reported.statistic == "percentile") != (reported.q is not None):
        raise BadInput(
            f'{location}: statistic is "{reported.statistic}" and q is "{entry.get("q", "")}"; specify q, from 0 to'
            " 100, for a percentile only"
        )
    if reported.statistic == "single" and (reported.seeds or 1) > 1:
        raise BadInput(
            f'{location}: statistic is "single", seeds {reported.seeds}; expected the statistic over these seeds'
        )
    if reported.statistic != "single" and reported.seeds is None:
        raise BadInput(
            f'{location}: statistic is "{reported.statistic}"; add the number of runs in the column seeds'
        )
    return reported
