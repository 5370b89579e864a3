"""One cell as text: reported -> reproduced, spread, difference, and the verdict as a symbol and a word."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from replicse.judge.judgements import Paired
from replicse.judge.table import ABSENT, NOT_COMPARABLE, QUOTED, CellResult
from replicse.spec.printed import PRINTED, UNITS

# Decimals where no number is printed to copy the rounding from.
DECIMALS = 2
ARROW = "→"
MINUS = "−"
SYMBOLS = {
    "within seed spread": "≈",
    "higher": "▲",
    "lower": "▼",
    "equal": "=",
    "not equal": "≠",
    "undetermined": "?",
    NOT_COMPARABLE: "◇",
    "not run": "○",
    ABSENT: "–",
    "failed": "✗",
    QUOTED: "†",
}
MEANINGS = {
    "within seed spread": "The reported number lies where one more of our runs is expected to fall.",
    "higher": "The reproduced number is higher: the reported one lies below that interval. This is no pass.",
    "lower": "The reproduced number is lower: the reported one lies above that interval.",
    "equal": "Nothing has a seed (a count, a released encoder), and ours is the reported number as it is rounded.",
    "not equal": "Nothing has a seed, and ours is another number than the reported one.",
    "undetermined": "Fewer than three seeds and no published spread to judge it by.",
    NOT_COMPARABLE: "The setting differs from the paper's, so no verdict is given. Where the scale differs, the caption"
    " of the table says so once.",
    "not run": "Planned, but at least one run is missing.",
    ABSENT: "The data set is not part of this study's data, so the cell could not be evaluated. Nothing failed.",
    "failed": "A run that the cell needs failed, so no number is shown.",
    QUOTED: "The paper took the number from elsewhere: shown, neither reproduced nor judged.",
}

Part = Literal["reported", "reproduced"]


class Rounding(NamedTuple):
    """How a printed number is rounded: decimals after `unit` (k, M, B) is taken out, or in powers of ten."""

    decimals: int
    unit: str = ""
    commas: bool = False
    scientific: bool = False


@dataclass(frozen=True)
class Shown:
    """A cell in parts, each ready to print; a missing part is blank. `verdict` names a symbol or is blank.

    `spread` is half the width of an interval, or the seeds themselves where they are too few for one; `scale` names one
    that is not the papers', which the difference then carries. `best` names the numbers that are the best of their
    column: `reported`, `reproduced` or both.
    """

    reported: str = ""
    reproduced: str = ""
    spread: str = ""
    delta: str = ""
    verdict: str = ""
    scale: str = ""
    best: tuple[Part, ...] = ()

    @property
    def word(self) -> str:
        """Return the verdict as a cell shows it: the caption says once that a table is not comparable."""
        return "" if self.scale and self.verdict == NOT_COMPARABLE else self.verdict

    @property
    def symbol(self) -> str:
        """Return the symbol of the verdict."""
        return SYMBOLS.get(self.word, "")

    @property
    def arrow(self) -> str:
        """Return the arrow from the reported number to ours; blank where one of them is missing."""
        return ARROW if self.reported and self.reproduced else ""

    @property
    def numbers(self) -> str:
        """Return `82.5 → 75.4`, or the one number there is."""
        return _joined(self.reported, self.arrow, self.reproduced)

    @property
    def detail(self) -> str:
        """Return `±0.6 (−7.1)`."""
        return _joined(self.spread, self.delta)

    @property
    def wide(self) -> tuple[str, ...]:
        """Return the details that are wider than a stacked cell's numbers, with scale or seeds: a line each."""
        wide = self.scale or self.spread.startswith("{")
        return tuple(filter(None, (self.delta, self.spread))) if wide else ()

    @property
    def text(self) -> str:
        """Return `82.5 → 75.4 ±0.6 (−7.1) ▼`."""
        return _joined(self.numbers, self.detail, self.symbol)

    @property
    def words(self) -> str:
        """Return the text with the verdict spelt out after its symbol."""
        return _joined(self.text, self.word)


def show(cell: CellResult | None, *, scale: str = "", quoted: bool = False) -> Shown:
    """Return a judged cell as text; a `scale` is given where it is not the papers', and shows no verdict.

    A quoted cell shows the printed number only.
    """
    if cell is None:
        return Shown()
    printed = cell.reported.value.strip() if cell.reported else ""
    reported = printed.replace("-", MINUS) if _printed(printed) else printed
    if quoted:
        return Shown(reported=reported, verdict=cell.shown_verdict(not scale, quoted))
    rounding = rounding_of(printed, cell.reproduced or 0)
    return Shown(
        reported=reported,
        reproduced=cell.text if cell.reproduced is None else rounded(cell.reproduced, rounding),
        spread=_spread(cell, rounding),
        delta="" if cell.delta is None else f"({signed(cell.delta, rounding)}{scale and f' {scale}'})",
        verdict=cell.shown_verdict(not scale),
        scale=scale,
    )


def in_braces(numbers: Iterable[str]) -> str:
    """Return `{74.9, 75.9}`: the seeds themselves, which are no interval."""
    return f"{{{', '.join(numbers)}}}"


def minus(number: str) -> str:
    """Return a number with a true minus sign."""
    return number.replace("-", MINUS)


def plus_minus(value: float) -> str:
    """Return a difference with its sign and two decimals."""
    return minus(f"{value:+.2f}")


def printed_difference(printed: float | None) -> str:
    """Return a difference of printed numbers with its sign and the decimals that it has; blank for none."""
    return "" if printed is None else minus(f"{printed:+,.10g}")


def effect_text(effect: Paired, number: Callable[[float], str] = plus_minus) -> str:
    """Return `−12.86 [−18.78, −6.94]`, or the seeds in braces where they are too few for an interval."""
    if effect.low is not None and effect.high is not None:
        return f"{number(effect.mean)} [{number(effect.low)}, {number(effect.high)}]"
    return _joined(number(effect.mean), in_braces(map(number, effect.by_seed)) if effect.n > 1 else "")


def _spread(cell: CellResult, rounding: Rounding) -> str:
    if cell.few:
        return in_braces(rounded(value, rounding) for value in cell.few)
    spread = half_width(cell.low, cell.high)
    return "" if spread is None else f"±{_small(spread, rounding)}{'*' if cell.borrowed else ''}"


def rounding_of(printed: str, value: float = 0.0) -> Rounding:
    """Return the rounding of a printed number; where none is printed (`-`, `N/A`) two decimals.

    A `value` below the last of these, such as a learning rate, then keeps two digits.
    """
    match = _printed(printed.strip())
    if match is None:
        digits = rounding_of(f"{value:.2g}") if 0 < abs(value) < 10**-DECIMALS else Rounding(DECIMALS)
        return digits if digits.scientific or digits.decimals > DECIMALS else Rounding(DECIMALS)
    return Rounding(
        decimals=len(match["fraction"] or ""),
        unit=match["unit"],
        commas="," in match["whole"],
        scientific=match["exponent"] is not None,
    )


def rounded(value: float, rounding: Rounding) -> str:
    """Return a number rounded to printed decimals, with a true minus sign and no negative zero.

    A count that would read as 0M is written out instead.
    """
    scaled = value / 10 ** UNITS[rounding.unit.lower()]
    kind = "e" if rounding.scientific else "f"
    text = f"{scaled:{',' if rounding.commas else ''}.{rounding.decimals}{kind}}"
    if float(text.replace(",", "")) == 0 and rounding.unit and value:
        return rounded(value, Rounding(0, commas=True))
    if float(text.replace(",", "")) == 0:
        text = text.removeprefix("-")
    return text.replace("-", MINUS) + rounding.unit


def signed(value: float, rounding: Rounding) -> str:
    """Return a rounded difference with its sign; a zero has none."""
    text = rounded(value, rounding)
    return f"+{text}" if value > 0 and any(digit in "123456789" for digit in text) else text


def half_width(low: float | None, high: float | None) -> float | None:
    """Return half the width of an interval; None where a bound is missing or the interval is a point."""
    if low is None or high is None or high <= low:
        return None
    return (high - low) / 2


def _printed(text: str) -> re.Match[str] | None:
    match = PRINTED.fullmatch(text)
    return match if match and (match["whole"] or match["fraction"]) else None


def _small(spread: float, rounding: Rounding) -> str:
    """Return a spread rounded like its cell, with more decimals where it would read as none at all."""
    scaled = spread / 10 ** UNITS[rounding.unit.lower()]
    if not rounding.scientific and round(scaled, rounding.decimals) == 0:
        rounding = rounding._replace(decimals=-math.floor(math.log10(scaled)))
    return rounded(spread, rounding)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
