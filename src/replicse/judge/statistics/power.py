"""Compute the statistical power of seeds before running.

This gives the smallest difference that some seeds detect, and the seeds that a difference needs. A difference is
detected if the printed number is outside the interval of `verdict.expected`. For a single run or a mean, the power is
the probability of a noncentral t distribution, with the degrees of freedom of our seeds and of a published spread that
is pooled with them; for an order statistic it is integrated over our mean and standard deviation. It is the power of
one verdict, before the verdicts of a paper are adjusted for multiple tests.
"""

import math
from bisect import bisect_left
from functools import cache

from replicse.judge.statistics.intervals import (
    order_statistic_below,
    order_statistic_interval,
    t_quantile,
)
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.printed import Spread

POWER = 0.8
MOST_SEEDS = 1000
# A difference of this many standard errors is always detected; for slightly larger ones ncfdtr returns NaN.
CERTAIN = 35.0


def power(
    gap: float,
    seeds: int,
    *,
    of: int = 1,
    share: float | None = None,
    borrowed: float = 0.0,
) -> float | None:
    """Compute the probability that seeds detect a difference.

    Args:
        gap: the difference, in standard deviations over seeds.
        seeds: the number of our runs.
        of: how many runs the printed number is the mean or an order statistic of.
        share: the quantile of an order statistic, 0 for the minimum and 1 for the maximum; None for a mean.
        borrowed: degrees of freedom of a published spread that is pooled with ours; 0 if there is none.

    Returns:
        The power; None without seeds, and for fewer than three seeds without a published spread.
    """
    if seeds < (1 if borrowed else FEWEST_SEEDS):
        return None
    from scipy.special import chndtr, ncfdtr

    degrees = seeds - 1 + borrowed
    if share is not None:
        interval = order_statistic_interval([0.0] * seeds, of, share, spread=Spread(1.0, degrees)) or ()
        inside = [order_statistic_below(bound, seeds, of, share, degrees, gap) for bound in interval]
        return 1 - (inside[1] - inside[0])
    shift = abs(gap) / math.sqrt(1 / of + 1 / seeds)
    if shift > CERTAIN:
        return 1.0
    edge = t_quantile(degrees) ** 2
    # The square of a noncentral t is a noncentral F, with known variance a noncentral chi-squared.
    if math.isinf(degrees):
        return 1 - float(chndtr(edge, 1, shift**2))
    return 1 - float(ncfdtr(1, degrees, shift**2, edge))


@cache
def smallest_gap(
    seeds: int, *, of: int = 1, share: float | None = None, borrowed: float = 0.0
) -> float | None:
    """Compute the smallest gap that seeds detect with power 0.8.

    The gap is in standard deviations over seeds. The arguments are those of `power`. Returns None for fewer than three
    seeds without a published spread.
    """
    if power(1.0, seeds, of=of, share=share, borrowed=borrowed) is None:
        return None

    def power_at(step: int) -> float:
        return power(step / 1e6, seeds, of=of, share=share, borrowed=borrowed) or 0.0

    return bisect_left(range(200_000_000), POWER, key=power_at) / 1e6


def seeds_for(gap: float, *, of: int = 1, share: float | None = None, borrowed: float = 0.0) -> int | None:
    """Compute the fewest seeds that detect a gap with power 0.8.

    The gap is in standard deviations over seeds. The arguments are those of `power`. Returns None if no number of seeds
    detects the gap: below 2.8 standard deviations, a printed single run is too uncertain.
    """

    def is_detected(seeds: int) -> bool:
        return (power(abs(gap), seeds, of=of, share=share, borrowed=borrowed) or 0.0) >= POWER

    numbers = range(1 if borrowed else FEWEST_SEEDS, MOST_SEEDS + 1)
    # Power grows with the number of seeds, so bisection finds the first.
    place = bisect_left(numbers, True, key=is_detected)
    return numbers[place] if place < len(numbers) else None
