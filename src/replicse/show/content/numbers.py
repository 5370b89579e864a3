"""Numbers as text: rounded as print is, differences with their sign, effects with their interval or seeds."""

import math
from collections.abc import Callable, Iterable

from replicse.judge.report.judgements import Paired
from replicse.judge.report.report_types import Effect
from replicse.printable import MINUS, number
from replicse.spec.printed import PrintedNumber, Rounding, parse_number

# Decimals where no number is printed to copy the rounding from.
DECIMALS = 2
DIGITS = "123456789"  # of a number that is not zero


def in_braces(numbers: Iterable[str]) -> str:
    """Return `{74.9, 75.9}`: the seeds themselves, which are no interval."""
    return f"{{{', '.join(numbers)}}}"


def plus_minus(value: float) -> str:
    """Return a difference with its sign and two decimals."""
    return number(value, "+.2f")


def tick(value: int) -> str:
    """Return a difference as an axis shows it: with its sign, zero without one."""
    return number(value, "+d") if value else "0"


def printed_difference(printed: float | None) -> str:
    """Return a difference of printed numbers with its sign and the decimals that it has; blank for none."""
    return "" if printed is None else number(printed, "+,.10g")


def effect_text(effect: Paired, each: Callable[[float], str] = plus_minus) -> str:
    """Return `−12.86 [−18.78, −6.94]`, or the seeds in braces where they are too few for an interval."""
    if effect.low is not None and effect.high is not None:
        return f"{each(effect.mean)} [{each(effect.low)}, {each(effect.high)}]"
    return each(effect.mean) + (f" {in_braces(map(each, effect.by_seed))}" if effect.n > 1 else "")


def effect_of_rows(effect: Effect, each: Callable[[float], str] = plus_minus) -> str:
    """Return our effect of a row as text; one over pairs of backbone and seed says so."""
    return effect_text(effect.ours, each) + (f" {effect.over}" if effect.backbones else "")


def rounding_of(printed: PrintedNumber | None, value: float = 0.0) -> Rounding:
    """Return the rounding of a printed number; two decimals without one.

    A `value` below the last of these, such as a learning rate, then keeps two digits.
    """
    shown = printed
    if shown is None and 0 < abs(value) < 10**-DECIMALS:
        shown = parse_number(format(value, ".2g"))
    return shown.rounding if shown else Rounding(DECIMALS)


def finest_rounding(printed: Iterable[str]) -> Rounding:
    """Return the rounding with the most decimals of some printed numbers; two decimals without any."""
    numbers = filter(None, map(parse_number, printed))
    return max((each.rounding for each in numbers), default=Rounding(DECIMALS))


def rounded(value: float, rounding: Rounding) -> str:
    """Return a number rounded to printed decimals, with a true minus sign and no negative zero.

    A count that would read as 0M is written out instead.
    """
    scaled = value / rounding.factor
    kind = "e" if rounding.scientific else "f"
    text = number(scaled, f"{',' if rounding.commas else ''}.{rounding.decimals}{kind}")
    if any(digit in DIGITS for digit in text.partition("e")[0]):
        return text + rounding.unit
    if rounding.unit and value:
        return rounded(value, Rounding(0, commas=True))
    return text.removeprefix(MINUS) + rounding.unit


def signed(value: float, rounding: Rounding) -> str:
    """Return a rounded difference with its sign; a zero has none."""
    text = rounded(value, rounding)
    return f"+{text}" if value > 0 and any(digit in DIGITS for digit in text) else text


def half_width(low: float | None, high: float | None) -> float | None:
    """Return half the width of an interval; None where a bound is missing or the interval is a point."""
    if low is None or high is None or high <= low:
        return None
    return (high - low) / 2


def small(spread: float, rounding: Rounding) -> str:
    """Return a spread rounded like its cell, with more decimals where it would read as none at all."""
    scaled = spread / rounding.factor
    if not rounding.scientific and round(scaled, rounding.decimals) == 0:
        rounding = rounding._replace(decimals=-math.floor(math.log10(scaled)))
    return rounded(spread, rounding)
