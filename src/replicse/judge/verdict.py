"""Verdicts: what a cell's seeds say about the number a paper prints. One pure function decides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replicse.errors import BadInput
from replicse.judge.statistics import (
    ORDERED,
    REFUTING,
    disagrees,
    mean_and_spread,
    order_statistic_below,
    order_statistic_interval,
    pooled,
    prediction_interval,
    spread_interval,
    t_below,
)
from replicse.judge.table import Verdict
from replicse.judge.values import finite, reduced
from replicse.printable import several
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.spec.columns import Reducer
from replicse.spec.printed import Reported, Rounded, Spread

_REFUTED = f"our seeds vary otherwise (F test of the variances, {1 - REFUTING:.0%})"
# Nobody says how often a single printed run is the best of several.
TRIES = 10
# Relative to a number: another machine or batch changes a score by less. It is half of the second decimal of 100.
NUMERICS = 5e-5
MEAN = Reducer()


@dataclass(frozen=True)
class Judgement:
    """A judged cell. `low` and `high` bound where the printed number is expected, given our seeds.

    Numbers are None where there is nothing to say; `verdict` is blank where the paper prints no number; `borrowed`
    marks an interval that rests on a published spread; `reason` is one sentence. `p` is how probably a number of our
    setting is printed as far from ours, or farther; `if_best` is the verdict if print is the best of ten runs.
    """

    reproduced: float | None
    delta: float | None
    low: float | None
    high: float | None
    n_seeds: int
    verdict: Verdict
    borrowed: bool
    reason: str
    p: float | None = None
    if_best: Verdict = ""


def judge(
    values: Sequence[float | None],
    reported: Reported | None,
    *,
    planned: int,
    comparable: bool,
    why_not: str = "",
    prior: Spread | None = None,
    seedless: bool = False,
    rounding: float = 0.0,
    failures: Sequence[str] = (),
    reducer: Reducer = MEAN,
    better: str = "higher",
) -> Judgement:
    """Judge one cell: `values` holds a number per planned seed, None where it is missing.

    A printed number is one more draw unless it says what it is of how many runs; `reducer` is what becomes of ours.
    Below three seeds of our own no interval rests on them: the cell is open unless a spread can be borrowed.
    `prior` is a published spread, pooled with that of our seeds where an F test does not tell them apart; `seedless`
    says that nothing has a seed (a count, a released checkpoint, a baseline): such a number is equal to print within
    half of its last digit, or within `NUMERICS` where that is more, or it is not; `rounding` is half a unit of the last
    digit of ours, which widens that when others have rounded it. A cell with a failure shows no
    numbers: the mean of the runs that survived would flatter it. `why_not` says what differs where a cell is not
    `comparable`.
    """
    target = reported.number if reported else None
    present = finite(values)
    broken = [f"a run gave {value}" for value in values if value is not None and not math.isfinite(value)]
    if failures or broken:
        reason = "; ".join([*failures, *broken])
        return Judgement(None, None, None, None, len(present), "failed", False, reason)
    if not present:
        reason = f"0 of {planned} planned runs available"
        return Judgement(None, None, None, None, 0, "not run", False, reason)

    seedless = seedless and len(present) == 1
    # A spread published for the paper's own setting says nothing about another one, and cannot be judged by itself.
    if not comparable or (reported and reported.statistic == "sd"):
        prior = None
    refuted = prior is not None and disagrees(present, prior)
    spread = Spread(0.0) if seedless else pooled(present, prior)
    interval = expected(present, reported, reducer, spread)
    borrowed = prior is not None and not refuted and interval is not None
    if interval and target:
        margin = _margin(target, seedless, rounding)
        interval = interval[0] - margin, interval[1] + margin
    low, high = interval or (None, None)
    reproduced = reduced(present, reducer)
    delta = reproduced - target.value if target and reproduced is not None else None
    p: float | None = None
    verdict: Verdict
    if_best: Verdict = ""
    if len(present) < planned:
        verdict, reason = "not run", f"missing: {planned - len(present)} of the planned runs ({planned})"
    elif reported is None or target is None:
        verdict, reason = "", "the paper prints no number here"
    elif not comparable:
        verdict, reason = "not comparable", why_not or "the setting differs from the paper's"
    elif interval is None:
        verdict, reason = "undetermined", _open(len(present), reported, reducer, refuted)
    else:
        found = _compared(target.value, *interval)
        same: Verdict = "equal" if found == "within seed spread" else "not equal"
        verdict = same if seedless else found
        basis = _basis(len(present), borrowed, seedless, rounding) + _printed_as(reported)
        basis += (
            f"; the published spread of {prior.sd:.3g} is not used: {_REFUTED}" if prior and refuted else ""
        )
        reason = _reason(found, target.value, interval, basis)
        if spread and spread.sd:
            p = p_value(present, reported, target, spread)
            if_best = _if_best(present, reported, target, spread, better)
    return Judgement(reproduced, delta, low, high, len(present), verdict, borrowed, reason, p, if_best)


def verdict(
    values: Sequence[float],
    reported: str | float,
    *,
    sd: float | None = None,
    sd_of: int | None = None,
    mean_of: int = 1,
) -> Judgement:
    """Judge numbers of several seeds against a printed one, by the rule of a study's cells.

    Args:
        values: one number a seed, in the unit of the printed one.
        reported: the number as printed, such as "76.25": text keeps its decimals, and half of the last digit is its
            rounding.
        sd: a published standard deviation over seeds in the paper's own setting; pooled with that of the values where
            an F test does not tell them apart.
        sd_of: of how many runs `sd` is; without it `sd` counts as known exactly.
        mean_of: of how many runs the printed number is the mean.

    Returns:
        The judgement: `verdict` (within seed spread, higher, lower, undetermined), the interval `low` to `high` in
        which the printed number is expected, `delta`, and `reason`, a sentence.

    Raises:
        BadInput: `reported` is no number, or `sd` or `mean_of` is not above 0, or `sd_of` is below 2.
    """
    printed: dict[str, Any] = {"value": str(reported), "source": "the caller"}
    printed |= {"statistic": "mean", "seeds": mean_of} if mean_of != 1 else {}
    cell = Reported.of(printed, "reported")
    if cell.number is None or (sd is not None and not sd > 0) or (sd_of is not None and sd_of < 2):
        raise BadInput(
            f'reported is "{reported}", sd {sd} of {sd_of} runs; expected a printed number and a spread above 0 of two'
            " runs or more"
        )
    prior = None if sd is None else Spread(sd, math.inf if sd_of is None else sd_of - 1)
    return judge(values, cell, planned=len(values), comparable=True, prior=prior)


def expected(
    values: Sequence[float], reported: Reported | None, reducer: Reducer, spread: Spread | None
) -> tuple[float, float] | None:
    """Return the interval in which a printed number is expected, given our values; None where it is open.

    One run is one more draw of ours, a mean of m runs the mean of m more, a maximum the largest of m more, and a
    standard deviation that of m more (normal runs; Student's t and F, order statistics by the beta distribution).
    """
    statistic = reported.statistic if reported else "single"
    count = (reported.seeds if reported else None) or 1
    if statistic == "single" and reducer.statistic != "mean":
        return None
    if statistic == "sd":
        return spread_interval(values, count)
    if statistic in ("single", "mean"):
        return prediction_interval(values, spread=spread, of=count if statistic == "mean" else 1)
    share = ORDERED.get(statistic, (reported.q if reported else None) or 0.0)
    return order_statistic_interval(values, count, share / 100, spread=spread)


def p_value(values: Sequence[float], reported: Reported, target: Rounded, spread: Spread) -> float:
    """Return how probably print of our setting is as far from our values, its rounding allowed for (two-sided).

    Below 0.05 where the printed number lies outside of `expected`.
    """
    lower = _below(target.value + target.half_digit, values, reported, spread)
    upper = 1 - _below(target.value - target.half_digit, values, reported, spread)
    return max(0.0, min(1.0, 2 * lower, 2 * upper))


def _below(x: float, values: Sequence[float], reported: Reported, spread: Spread) -> float:
    """Return how probably what is printed lies below x, given our values."""
    statistic, count = reported.statistic, reported.seeds or 1
    if statistic == "sd":
        from scipy.special import fdtr

        return float(fdtr(count - 1, spread.degrees, (max(x, 0.0) / spread.sd) ** 2))
    offset = (x - mean_and_spread(values)[0]) / spread.sd
    if statistic in ("single", "mean"):
        others = 1 if statistic == "single" else count
        return t_below(offset / math.sqrt(1 / others + 1 / len(values)), spread.degrees)
    share = ORDERED.get(statistic, reported.q or 0.0) / 100
    return order_statistic_below(offset, len(values), count, share, spread.degrees)


def _if_best(
    values: Sequence[float], reported: Reported, target: Rounded, spread: Spread, better: str
) -> Verdict:
    """Return the verdict if a single printed run is the best of ten; blank where print says what it is."""
    interval = order_statistic_interval(values, TRIES, float(better == "higher"), spread=spread)
    if reported.statistic != "single" or interval is None:
        return ""
    return _compared(target.value, interval[0] - target.half_digit, interval[1] + target.half_digit)


def _margin(target: Rounded, seedless: bool, rounding: float) -> float:
    """Return by how much an interval is widened for the rounding of print, and of a value without seeds."""
    if not seedless:
        return target.half_digit
    return max(target.half_digit, NUMERICS * abs(target.value)) + rounding


def _open(n_seeds: int, reported: Reported, reducer: Reducer, refuted: bool) -> str:
    if reported.statistic == "single" and reducer.statistic != "mean":
        return f"the paper does not say of how many runs its {reducer.name} is"
    borrow = "" if reported.statistic == "sd" else " and no published spread to borrow"
    borrow = f", and no published spread to borrow, for {_REFUTED}" if refuted else borrow
    return f"{several(n_seeds, 'seed')}{borrow}: an interval needs {FEWEST_SEEDS}"


def _printed_as(reported: Reported) -> str:
    return (
        ""
        if reported.statistic == "single"
        else f"; printed is the {reported.statistic} of {reported.seeds} runs"
    )


def _compared(reported: float, low: float, high: float) -> Verdict:
    # Decimal fractions are inexact in binary: 2.35 lies on the edge of 2.3 -+ 0.05, not beyond it.
    slack = 1e-12 * max(abs(low), abs(high), abs(reported))
    if reported < low - slack:
        return "higher"
    if reported > high + slack:
        return "lower"
    return "within seed spread"


def _basis(n_seeds: int, borrowed: bool, seedless: bool, rounding: float) -> str:
    if seedless:
        both = f"half a printed digit{' and the rounding of the source' if rounding else ''}"
        return f"{both}; nothing has a seed"
    return f"{LEVEL:.0%}, {several(n_seeds, 'seed')}{' and a published spread' if borrowed else ''}"


def _reason(verdict: str, reported: float, interval: tuple[float, float], basis: str) -> str:
    place = {"higher": "below", "lower": "above", "within seed spread": "inside"}[verdict]
    low, high = interval
    excluded = f"; a difference beyond {max(reported - low, high - reported):.2g} is excluded"
    excluded *= verdict == "within seed spread"
    return f"the reported {reported:.6g} lies {place} {low:.6g} to {high:.6g} ({basis}{excluded})"
