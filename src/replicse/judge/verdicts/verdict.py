"""The verdict of a cell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replicse.errors import BadInput
from replicse.judge.statistics.intervals import (
    ORDERED,
    REFUTING,
    mean_and_spread,
    order_statistic_below,
    order_statistic_interval,
    pool_spreads,
    prediction_interval,
    spread_interval,
    spreads_disagree,
    t_below,
)
from replicse.judge.values.cell_values import finite_numbers, reduce_values
from replicse.judge.verdicts.table import Verdict
from replicse.printable import several
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.spec.columns import Reducer
from replicse.spec.printed import Reported, Rounded, Spread

_REFUTED = f"our seeds have another variance (F test, {1 - REFUTING:.0%})"
# An assumption, because papers do not state how many runs a printed best run was selected from.
TRIES = 10
# Another machine or batch size changes a score by less than this share of the score: 0.005 of 100.
NUMERICS = 5e-5
MEAN = Reducer()


@dataclass(frozen=True)
class Judgement:
    """The judgement of a cell; undefined numbers are None.

    Attributes:
        reproduced: the statistic over our seeds.
        delta: `reproduced` minus the printed number.
        low, high: the interval in which the printed number is expected, given our seeds.
        n_seeds: the number of seeds with a value.
        verdict: the verdict; an empty string if the paper prints no number.
        borrowed: whether the interval uses a published standard deviation.
        reason: a sentence.
        p: the probability that a number in our setting is at least as far from our mean as the printed number.
        if_best: the verdict if the printed number is the best of ten runs.
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
    """Judge a cell.

    A printed number is treated as one more run, unless the paper states a statistic and the number of runs. An interval
    needs three seeds, or a published standard deviation. A cell with a failure has no numbers, because the mean of the
    other runs would be too optimistic.

    Args:
        values: a number for each planned seed, None if it is missing.
        reported: the printed number; None if there is none.
        planned: the number of planned seeds.
        comparable: whether our runs use the paper's setting.
        why_not: the difference if they do not. Default: an empty string.
        prior: a published standard deviation. It is pooled with the standard deviation of our seeds unless an F test
            rejects it. Default: None.
        seedless: whether the number does not depend on a seed (a count, a released checkpoint, a baseline). Such a
            number equals the printed number if they differ by at most half of its last digit, or `NUMERICS` if that is
            more. Default: False.
        rounding: half a unit of the last digit of our number if it is published with rounding; added to that limit.
            Default: 0.
        failures: list of reasons why runs failed. Default: empty.
        reducer: the statistic over our seeds. Default: the mean.
        better: which numbers are better, "higher" or "lower". Default: "higher".
    """
    present = finite_numbers(values)
    infinite = [f"a run gave {value}" for value in values if value is not None and not math.isfinite(value)]
    if failures or infinite:
        return _judgement_without_numbers("failed", "; ".join([*failures, *infinite]), len(present))
    if not present:
        return _judgement_without_numbers("not run", f"0 of {planned} planned runs available")

    target = reported.number if reported else None
    seedless = seedless and len(present) == 1
    # A published standard deviation belongs to the paper's setting only, and cannot be judged with itself.
    if not comparable or (reported and reported.statistic == "sd"):
        prior = None
    refuted = prior if prior is not None and spreads_disagree(present, prior) else None
    spread = Spread(0.0) if seedless else pool_spreads(present, prior)
    interval = expected(present, reported, reducer, spread)
    borrowed = prior is not None and refuted is None and interval is not None
    margin = _margin(target, seedless, rounding)
    low, high = (interval[0] - margin, interval[1] + margin) if interval else (None, None)
    reproduced = reduce_values(present, reducer)
    delta = reproduced - target.value if target and reproduced is not None else None
    p: float | None = None
    if_best: Verdict = ""
    verdict: Verdict
    if len(present) < planned:
        verdict, reason = "not run", f"missing: {planned - len(present)} of the planned runs ({planned})"
    elif reported is None or target is None:
        verdict, reason = "", "the paper prints no number here"
    elif not comparable:
        verdict, reason = "not comparable", why_not or "the setting differs from the paper's"
    elif low is None or high is None:
        verdict = "undetermined"
        reason = _explain_undetermined(len(present), reported, reducer, refuted is not None)
    else:
        found = _compare_with_interval(target.value, low, high)
        verdict = _seedless_verdict(found) if seedless else found
        basis = _basis(len(present), borrowed, seedless, rounding) + _printed_statistic(reported)
        if refuted is not None:
            basis += f"; the published spread of {refuted.sd:.3g} is not used: {_REFUTED}"
        reason = _reason(found, target.value, (low, high), basis)
        if spread and spread.sd:
            p = p_value(present, reported, target, spread)
            if_best = _verdict_if_best(present, reported, target, spread, better)
    return Judgement(reproduced, delta, low, high, len(present), verdict, borrowed, reason, p, if_best)


def _judgement_without_numbers(verdict: Verdict, reason: str, n_seeds: int = 0) -> Judgement:
    return Judgement(None, None, None, None, n_seeds, verdict, False, reason)


def _seedless_verdict(found: Verdict) -> Verdict:
    return "equal" if found == "within seed spread" else "not equal"


def verdict(
    values: Sequence[float],
    reported: str | float,
    *,
    sd: float | None = None,
    sd_of: int | None = None,
    mean_of: int = 1,
) -> Judgement:
    """Judge numbers of several seeds against a printed number.

    The rule is the same as for cells of a study.

    Args:
        values: list of a number per seed, in the unit of the printed number.
        reported: the number as printed, such as "76.25". Use a string to keep its decimals; half of the last digit is
            the rounding error.
        sd: a published standard deviation over seeds in the paper's setting. It is pooled with the standard deviation
            of the values unless an F test rejects it. Default: None.
        sd_of: the number of runs that `sd` is computed from. Default: None; then `sd` is exact.
        mean_of: the number of runs that the printed number is the mean of. Default: 1.

    Returns:
        The judgement: `verdict` (within seed spread, higher, lower, undetermined), the interval `low` to `high` in
        which the printed number is expected, `delta`, and `reason`, a sentence.

    Raises:
        BadInput: if `reported` is not a number, `sd` or `mean_of` is not above 0, or `sd_of` is below 2.

    Example:
        >>> verdict([75.9, 76.1, 76.4], "76.25").verdict
        'within seed spread'
    """
    printed: dict[str, Any] = {"value": str(reported), "source": "the caller"}
    if mean_of != 1:
        printed |= {"statistic": "mean", "seeds": mean_of}
    cell = Reported.of(printed, "reported")
    if cell.number is None or (sd is not None and not sd > 0) or (sd_of is not None and sd_of < 2):
        raise BadInput(
            f'reported is "{reported}", sd {sd} of {sd_of} runs; expected a printed number and a spread above 0 of two'
            " runs or more"
        )
    prior = None
    if sd is not None:
        prior = Spread(sd, math.inf if sd_of is None else sd_of - 1)
    return judge(values, cell, planned=len(values), comparable=True, prior=prior)


def expected(
    values: Sequence[float], reported: Reported | None, reducer: Reducer, spread: Spread | None
) -> tuple[float, float] | None:
    """Compute the interval in which a printed number is expected.

    A printed single run is one more run like our runs. A printed mean, maximum or standard deviation of m runs is the
    statistic of m more runs. Runs are normally distributed: the interval uses Student's t, F, and the beta distribution
    for order statistics.

    Args:
        values: our values, a number per seed.
        reported: the printed number; None means a single run.
        reducer: the statistic over our seeds.
        spread: the standard deviation of the runs; None if it is unknown.

    Returns:
        The lower and upper bound at 95%; None if it cannot be computed.
    """
    if reported is None or reported.statistic == "single":
        if reducer.statistic != "mean":
            return None
        return prediction_interval(values, spread=spread)
    count = reported.seeds or 1
    if reported.statistic == "sd":
        return spread_interval(values, count)
    if reported.statistic == "mean":
        return prediction_interval(values, spread=spread, of=count)
    share = ORDERED.get(reported.statistic, reported.q or 0.0)
    return order_statistic_interval(values, count, share / 100, spread=spread)


def p_value(values: Sequence[float], reported: Reported, target: Rounded, spread: Spread) -> float:
    """Compute the two-sided p-value of a printed number, given our values.

    Rounding of the printed number counts in its favour. The result is below 0.05 if the number is outside `expected`.

    Args:
        values: our values, a number per seed.
        reported: the printed number with its statistic.
        target: the printed number with its rounding.
        spread: the standard deviation of the runs.
    """
    lower = _below(target.value + target.half_digit, values, reported, spread)
    upper = 1 - _below(target.value - target.half_digit, values, reported, spread)
    return max(0.0, min(1.0, 2 * lower, 2 * upper))


def _below(x: float, values: Sequence[float], reported: Reported, spread: Spread) -> float:
    """Compute the probability that the printed number is below x."""
    statistic, count = reported.statistic, reported.seeds or 1
    if statistic == "sd":
        from scipy.special import fdtr

        return float(fdtr(count - 1, spread.degrees, (max(x, 0.0) / spread.sd) ** 2))
    offset = (x - mean_and_spread(values)[0]) / spread.sd
    if statistic in ("single", "mean"):
        averaged = 1 if statistic == "single" else count
        return t_below(offset / math.sqrt(1 / averaged + 1 / len(values)), spread.degrees)
    share = ORDERED.get(statistic, reported.q or 0.0) / 100
    return order_statistic_below(offset, len(values), count, share, spread.degrees)


def _verdict_if_best(
    values: Sequence[float], reported: Reported, target: Rounded, spread: Spread, better: str
) -> Verdict:
    """Return the verdict if a single printed run is the best of ten.

    Returns an empty string if the paper says which statistic it prints.
    """
    interval = order_statistic_interval(values, TRIES, float(better == "higher"), spread=spread)
    if reported.statistic != "single" or interval is None:
        return ""
    low, high = interval
    return _compare_with_interval(target.value, low - target.half_digit, high + target.half_digit)


def _margin(target: Rounded | None, seedless: bool, rounding: float) -> float:
    """Compute how much rounding widens an interval.

    The rounding of our number counts only if it is seedless.
    """
    if target is None:
        return 0.0
    if not seedless:
        return target.half_digit
    return max(target.half_digit, NUMERICS * abs(target.value)) + rounding


def _explain_undetermined(n_seeds: int, reported: Reported, reducer: Reducer, refuted: bool) -> str:
    """Return why there is no interval."""
    if reported.statistic == "single" and reducer.statistic != "mean":
        return f"the paper does not state the number of runs of the {reducer.name}"
    if refuted:
        borrow = f", and the published spread is not used because {_REFUTED}"
    elif reported.statistic == "sd":
        borrow = ""
    else:
        borrow = " and no published spread"
    return f"{several(n_seeds, 'seed')}{borrow}: an interval needs {FEWEST_SEEDS} seeds"


def _printed_statistic(reported: Reported) -> str:
    if reported.statistic == "single":
        return ""
    return f"; printed is the {reported.statistic} of {reported.seeds} runs"


def _compare_with_interval(reported: float, low: float, high: float) -> Verdict:
    """Return whether our number is higher or lower than the printed number.

    The interval is the range in which the printed number is expected.
    """
    # Decimal fractions are not exact in binary: 2.35 is on the edge of 2.3 -+ 0.05 and not outside.
    slack = 1e-12 * max(abs(low), abs(high), abs(reported))
    if reported < low - slack:
        return "higher"
    if reported > high + slack:
        return "lower"
    return "within seed spread"


def _basis(n_seeds: int, borrowed: bool, seedless: bool, rounding: float) -> str:
    """Describe the runs and the spread that an interval uses."""
    if seedless:
        source = " and the rounding of the source" if rounding else ""
        return f"half a printed digit{source}; no random seed"
    published = " and a published spread" if borrowed else ""
    return f"{LEVEL:.0%}, {several(n_seeds, 'seed')}{published}"


def _reason(verdict: str, reported: float, interval: tuple[float, float], basis: str) -> str:
    place = {"higher": "below", "lower": "above", "within seed spread": "inside"}[verdict]
    low, high = interval
    excluded = ""
    if verdict == "within seed spread":
        excluded = f"; a difference beyond {max(reported - low, high - reported):.2g} is excluded"
    return f"the reported {reported:.6g} lies {place} {low:.6g} to {high:.6g} ({basis}{excluded})"
