"""Format numbers, differences and effects."""

import math
from collections.abc import Callable, Iterable

from replicse.judge.report.judgements import Paired
from replicse.judge.report.report_types import Effect
from replicse.printable import MINUS, number
from replicse.spec.printed import PrintedNumber, Rounding, parse_number

# Default number of decimals if there is no published number.
DECIMALS = 2
DIGITS = "123456789"  # a number with one of these is not zero


def in_braces(numbers: Iterable[str]) -> str:
    """Return the values of seeds in braces, such as `{74.9, 75.9}`."""
    return f"{{{', '.join(numbers)}}}"


def plus_minus(value: float) -> str:
    """Format a difference with a sign and two decimals."""
    return number(value, "+.2f")


def tick(value: int) -> str:
    """Format a difference for an axis, with a sign unless it is zero."""
    return number(value, "+d") if value else "0"


def printed_difference(printed: float | None) -> str:
    """Format a published difference with a sign; return "" for None."""
    if printed is None:
        return ""
    return number(printed, "+,.10g")


def effect_text(effect: Paired, each: Callable[[float], str] = plus_minus) -> str:
    """Format an effect with an interval, or with two seeds.

    Args:
        effect: A difference paired by seed.
        each: A function that formats a number. Default: two decimals and a sign.

    Returns:
        A string such as `−12.86 [−18.78, −6.94]` or `+0.40 {+0.31, +0.49}`; a single seed is only a number.
    """
    if effect.low is not None and effect.high is not None:
        return f"{each(effect.mean)} [{each(effect.low)}, {each(effect.high)}]"
    if effect.n > 1:
        return f"{each(effect.mean)} {in_braces(map(each, effect.by_seed))}"
    return each(effect.mean)


def effect_of_rows(effect: Effect, each: Callable[[float], str] = plus_minus) -> str:
    """Format our effect of a row, and the pairs if they cross backbones.

    Args:
        effect: The effect of a row.
        each: A function that formats a number. Default: two decimals and a sign.
    """
    text = effect_text(effect.ours, each)
    return f"{text} {effect.over}" if effect.backbones else text


def rounding_of(printed: PrintedNumber | None, value: float = 0.0) -> Rounding:
    """Return the rounding of a published number.

    Args:
        printed: The published number. If it is None, two decimals are used.
        value: Our number. If it is too small for two decimals, such as a learning rate, two digits are used. Default:
            0.0.
    """
    shown = printed
    if shown is None and 0 < abs(value) < 10**-DECIMALS:
        shown = parse_number(format(value, ".2g"))
    if shown is None:
        return Rounding(DECIMALS)
    return shown.rounding


def finest_rounding(printed: Iterable[str]) -> Rounding:
    """Return the finest rounding of published numbers.

    Args:
        printed: Published numbers as strings. Strings that cannot be parsed are ignored.

    Returns:
        The rounding with the most decimals. Default: two decimals.
    """
    numbers = filter(None, map(parse_number, printed))
    return max((each.rounding for each in numbers), default=Rounding(DECIMALS))


def rounded(value: float, rounding: Rounding) -> str:
    """Format a number with the rounding of a published number.

    The minus sign is U+2212, and zero has no sign. A count that would be rounded to 0M is written in full.
    """
    scaled = value / rounding.factor
    kind = "e" if rounding.scientific else "f"
    commas = "," if rounding.commas else ""
    text = number(scaled, f"{commas}.{rounding.decimals}{kind}")
    if any(digit in DIGITS for digit in text.partition("e")[0]):
        return text + rounding.unit
    if rounding.unit and value:
        return rounded(value, Rounding(0, commas=True))
    return text.removeprefix(MINUS) + rounding.unit


def signed(value: float, rounding: Rounding) -> str:
    """Format a difference with a sign, unless it is rounded to zero."""
    text = rounded(value, rounding)
    if value > 0 and any(digit in DIGITS for digit in text):
        return f"+{text}"
    return text


def half_width(low: float | None, high: float | None) -> float | None:
    """Return half the width of an interval.

    Return None if a bound is missing or the width is zero.
    """
    if low is None or high is None or high <= low:
        return None
    return (high - low) / 2


def small(spread: float, rounding: Rounding) -> str:
    """Format a spread with the rounding of a cell.

    A spread that would be rounded to zero gets more decimals.
    """
    scaled = spread / rounding.factor
    if not rounding.scientific and round(scaled, rounding.decimals) == 0:
        rounding = rounding._replace(decimals=-math.floor(math.log10(scaled)))
    return rounded(spread, rounding)
