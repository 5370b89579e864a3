"""Verdicts: what a cell's seeds say about the number a paper prints. One pure function decides."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replicse.errors import BadInput
from replicse.study.results.statistics import LEVEL, mean_and_spread, prediction_interval

VERDICTS = ("failed", "not run", "not comparable", "undetermined", "within seed spread", "higher", "lower")
FEW_SEEDS = 5
ABSENT = ("", "-", "–", "—", "−", "n/a")
UNITS = {"": 0, "k": 3, "m": 6, "b": 9}
PRINTED = re.compile(
    r"(?P<sign>[-+−–]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?:\.(?P<fraction>\d*))?"
    r"(?:[eE](?P<exponent>[-+−]?\d+))?\s*(?P<unit>[kKmMbB]?)%?[*†‡]*(?:\s*(?:±|\+/-|\().*)?"
)


class PrintedNumber(NamedTuple):
    """A number as a paper prints it, and half a unit of its last digit: `82.5` is 82.5 and 0.05."""

    value: float
    half_digit: float


@dataclass(frozen=True)
class Judgement:
    """A judged cell. `low` and `high` bound where one more run is expected, and so the paper's number.

    Numbers are None where there is nothing to say; `verdict` is one of VERDICTS, or blank where the paper
    prints no number; `borrowed` marks an interval that rests on a published spread; `reason` is one sentence.
    """

    reproduced: float | None
    delta: float | None
    low: float | None
    high: float | None
    n_seeds: int
    verdict: str
    borrowed: bool
    reason: str


def printed_number(text: str | None) -> PrintedNumber | None:
    """Return the number in a printed cell: 82.5, 3e-5, 110M, 1,500, 75.1 ± 0.8; None for an absent one.

    Raises BadInput for any other text.
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
    digits = match["whole"].replace(",", "") + fraction
    last = exponent - len(fraction)
    return PrintedNumber(float(f"{sign}{digits}e{last}"), float(f"5e{last - 1}"))


def judge(
    values: Sequence[float | None],
    reported: str | None,
    *,
    planned: int,
    comparable: bool,
    why_not: str = "",
    prior_sd: float | None = None,
    failures: Sequence[str] = (),
) -> Judgement:
    """Judge one cell: `values` holds a number per planned seed, None where it is missing.

    The paper's number is taken for one more draw, so it is held against a prediction interval widened by half
    its last printed digit. `prior_sd` is a published spread, used with fewer than five seeds; 0 says that the
    encoder has no seed (a released checkpoint, a baseline). A cell with a failure shows no numbers: the mean
    of the runs that survived would flatter it. `why_not` says what differs where a cell is not `comparable`.
    """
    target = printed_number(reported)
    present = [float(value) for value in values if value is not None and math.isfinite(value)]
    broken = [f"a run gave {value}" for value in values if value is not None and not math.isfinite(value)]
    if failures or broken:
        reason = "; ".join([*failures, *broken])
        return Judgement(None, None, None, None, len(present), "failed", False, reason)
    if not present:
        reason = f"none of the planned runs ({planned}) is there"
        return Judgement(None, None, None, None, 0, "not run", False, reason)

    seedless = prior_sd == 0 and len(present) == 1
    # A spread published for the paper's own setting says nothing about another one.
    borrowed = bool(prior_sd) and comparable and len(present) < FEW_SEEDS
    interval = prediction_interval(present, spread=prior_sd if borrowed or seedless else None)
    if interval and target:
        interval = interval[0] - target.half_digit, interval[1] + target.half_digit
    low, high = interval or (None, None)
    reproduced = mean_and_spread(present)[0]
    delta = reproduced - target.value if target else None
    if len(present) < planned:
        verdict, reason = "not run", f"missing: {planned - len(present)} of the planned runs ({planned})"
    elif target is None:
        verdict, reason = "", "the paper prints no number here"
    elif not comparable:
        verdict, reason = "not comparable", why_not or "the setting differs from the paper's"
    elif interval is None:
        verdict, reason = "undetermined", "one seed and no published spread to borrow"
    else:
        verdict = _compared(target.value, *interval)
        reason = _reason(verdict, target.value, interval, _basis(len(present), borrowed, seedless))
    return Judgement(reproduced, delta, low, high, len(present), verdict, borrowed, reason)


def _compared(reported: float, low: float, high: float) -> str:
    # Decimal fractions are inexact in binary: 2.35 lies on the edge of 2.3 -+ 0.05, not beyond it.
    slack = 1e-12 * max(abs(low), abs(high), abs(reported))
    if reported < low - slack:
        return "higher"
    if reported > high + slack:
        return "lower"
    return "within seed spread"


def _basis(n_seeds: int, borrowed: bool, seedless: bool) -> str:
    if seedless:
        return "half a printed digit; the encoder has no seed"
    seeds = f"{n_seeds} seed{'s' if n_seeds > 1 else ''}"
    return f"{LEVEL:.0%}, {seeds}{' and a published spread' if borrowed else ''}"


def _reason(verdict: str, reported: float, interval: tuple[float, float], basis: str) -> str:
    place = {"higher": "below", "lower": "above", "within seed spread": "inside"}[verdict]
    low, high = interval
    return f"the reported {reported:.6g} lies {place} {low:.6g} to {high:.6g} ({basis})"
