"""Verdicts: what a cell's seeds say about the number a paper prints. One pure function decides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replicse.errors import BadInput
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.study.paper.printed import Reported
from replicse.study.paper.tables import Reducer
from replicse.study.results.statistics import (
    ORDERED,
    REFUTING,
    contradicts,
    order_statistic_interval,
    prediction_interval,
    spread_interval,
)
from replicse.study.results.table import Verdict
from replicse.study.results.values import finite, reduced

FEW_SEEDS = 5
_REFUTED = f"our seeds vary more (chi-square test of the variance, {1 - REFUTING:.0%})"
MEAN = Reducer()


@dataclass(frozen=True)
class Judgement:
    """A judged cell. `low` and `high` bound where the printed number is expected, given our seeds.

    Numbers are None where there is nothing to say; `verdict` is blank where the paper prints no number; `borrowed`
    marks an interval that rests on a published spread; `reason` is one sentence.
    """

    reproduced: float | None
    delta: float | None
    low: float | None
    high: float | None
    n_seeds: int
    verdict: Verdict
    borrowed: bool
    reason: str


def judge(
    values: Sequence[float | None],
    reported: Reported | None,
    *,
    planned: int,
    comparable: bool,
    why_not: str = "",
    prior_sd: float | None = None,
    failures: Sequence[str] = (),
    reducer: Reducer = MEAN,
) -> Judgement:
    """Judge one cell: `values` holds a number per planned seed, None where it is missing.

    A printed number is one more draw unless it says what it is of how many runs; `reducer` is what becomes of ours.
    Below three seeds of our own no interval rests on them: the cell is open unless a spread can be borrowed.
    `prior_sd` is a published spread, used with fewer than five seeds that do not contradict it; 0 says that the encoder
    has no seed (a released checkpoint, a baseline). A cell with a failure shows no numbers: the mean of the runs that
    survived would flatter it. `why_not` says what differs where a cell is not `comparable`.
    """
    target = reported.number if reported else None
    present = finite(values)
    broken = [f"a run gave {value}" for value in values if value is not None and not math.isfinite(value)]
    if failures or broken:
        reason = "; ".join([*failures, *broken])
        return Judgement(None, None, None, None, len(present), "failed", False, reason)
    if not present:
        reason = f"none of the planned runs ({planned}) is there"
        return Judgement(None, None, None, None, 0, "not run", False, reason)

    seedless = prior_sd == 0 and len(present) == 1
    # A spread published for the paper's own setting says nothing about another one, and cannot be judged by itself.
    borrowed = bool(prior_sd) and comparable and len(present) < FEW_SEEDS
    borrowed = borrowed and not (reported and reported.statistic == "sd")
    refuted = borrowed and contradicts(present, prior_sd or 0.0)
    borrowed = borrowed and not refuted
    interval = expected(present, reported, reducer, prior_sd if borrowed or seedless else None)
    borrowed = borrowed and interval is not None
    if interval and target:
        interval = interval[0] - target.half_digit, interval[1] + target.half_digit
    low, high = interval or (None, None)
    reproduced = reduced(present, reducer)
    delta = reproduced - target.value if target and reproduced is not None else None
    verdict: Verdict
    if len(present) < planned:
        verdict, reason = "not run", f"missing: {planned - len(present)} of the planned runs ({planned})"
    elif target is None:
        verdict, reason = "", "the paper prints no number here"
    elif not comparable:
        verdict, reason = "not comparable", why_not or "the setting differs from the paper's"
    elif interval is None:
        verdict, reason = "undetermined", _open(len(present), reported, reducer, refuted)
    else:
        verdict = _compared(target.value, *interval)
        basis = _basis(len(present), borrowed, seedless) + _printed_as(reported)
        basis += f"; the published spread of {prior_sd:.3g} is not used: {_REFUTED}" if refuted else ""
        reason = _reason(verdict, target.value, interval, basis)
    return Judgement(reproduced, delta, low, high, len(present), verdict, borrowed, reason)


def verdict(
    values: Sequence[float], reported: str | float, *, sd: float | None = None, mean_of: int = 1
) -> Judgement:
    """Judge numbers of several seeds against a printed one, by the rule of a study's cells.

    Args:
        values: one number a seed, in the unit of the printed one.
        reported: the number as printed, such as "76.25": text keeps its decimals, and half of the last digit is its
            rounding.
        sd: a published standard deviation over seeds in the paper's own setting; used with fewer than five values that
            do not contradict it.
        mean_of: of how many runs the printed number is the mean.

    Returns:
        The judgement: `verdict` (within seed spread, higher, lower, undetermined), the interval `low` to `high` in
        which the printed number is expected, `delta`, and `reason`, a sentence.

    Raises:
        BadInput: `reported` is no number, or `sd` or `mean_of` is not above 0.
    """
    printed: dict[str, Any] = {"value": str(reported), "source": "the caller"}
    printed |= {"statistic": "mean", "seeds": mean_of} if mean_of != 1 else {}
    cell = Reported.of(printed, "reported")
    if cell.number is None or (sd is not None and not sd > 0):
        raise BadInput(f'reported is "{reported}", sd {sd}; expected a printed number and a spread above 0')
    return judge(values, cell, planned=len(values), comparable=True, prior_sd=sd)


def expected(
    values: Sequence[float], reported: Reported | None, reducer: Reducer, spread: float | None
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


def _open(n_seeds: int, reported: Reported, reducer: Reducer, refuted: bool) -> str:
    if reported.statistic == "single" and reducer.statistic != "mean":
        return f"the paper does not say of how many runs its {reducer.name} is"
    borrow = "" if reported.statistic == "sd" else " and no published spread to borrow"
    borrow = f", and no published spread to borrow, for {_REFUTED}" if refuted else borrow
    return f"{_seeds(n_seeds)}{borrow}: an interval needs {FEWEST_SEEDS}"


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


def _basis(n_seeds: int, borrowed: bool, seedless: bool) -> str:
    if seedless:
        return "half a printed digit; the encoder has no seed"
    return f"{LEVEL:.0%}, {_seeds(n_seeds)}{' and a published spread' if borrowed else ''}"


def _seeds(count: int) -> str:
    return f"{count} seed{'s' * (count > 1)}"


def _reason(verdict: str, reported: float, interval: tuple[float, float], basis: str) -> str:
    place = {"higher": "below", "lower": "above", "within seed spread": "inside"}[verdict]
    low, high = interval
    return f"the reported {reported:.6g} lies {place} {low:.6g} to {high:.6g} ({basis})"
