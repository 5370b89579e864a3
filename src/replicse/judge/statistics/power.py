"""Statistical power of seeds, computed before running.

These functions compute the smallest difference that a number of seeds detects, and the number of seeds that a
difference needs. A difference is detected if the printed number is outside the interval of `verdict.expected`.

For a single run or a mean, the power is the probability of a noncentral t distribution. Its degrees of freedom come
from our seeds and from a published standard deviation that is pooled with ours. For an order statistic, the power is
integrated over our mean and standard deviation. It is the power of a single verdict, before the verdicts of a paper are
adjusted for multiple tests.
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
# A difference of this many standard errors is always detected. For slightly larger differences, ncfdtr returns NaN.
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

    The defaults are for a printed single run without a standard deviation.

    Args:
        gap: the difference, in standard deviations over seeds.
        seeds: the number of our runs.
        of: the number of runs that the printed number summarises (their mean or an order statistic). Default: 1.
        share: the quantile of an order statistic, 0 for the minimum and 1 for the maximum. Default: None, for a mean.
        borrowed: degrees of freedom of a published standard deviation that is pooled with ours. Default: 0, if nothing
            is published.

    Returns:
        The power; None without seeds, and for fewer than three seeds if no standard deviation is published.
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

    See `power` for the other arguments and their defaults.

    Args:
        seeds: the number of our runs.

    Returns:
        The gap in standard deviations over seeds; None for fewer than three seeds if no standard deviation is
        published.
    """
    if power(1.0, seeds, of=of, share=share, borrowed=borrowed) is None:
        return None

    def power_at(step: int) -> float:
        return power(step / 1e6, seeds, of=of, share=share, borrowed=borrowed) or 0.0

    return bisect_left(range(200_000_000), POWER, key=power_at) / 1e6


def seeds_for(gap: float, *, of: int = 1, share: float | None = None, borrowed: float = 0.0) -> int | None:
    """Compute the fewest seeds that detect a gap with power 0.8.

    See `power` for the other arguments.

    Args:
        gap: the difference, in standard deviations over seeds.

    Returns:
        The number of seeds; None if no number of seeds detects the gap. For example, a printed single run is too
        uncertain to detect a gap below 2.8 standard deviations.
    """

    def is_detected(seeds: int) -> bool:
        return (power(abs(gap), seeds, of=of, share=share, borrowed=borrowed) or 0.0) >= POWER

    numbers = range(1 if borrowed else FEWEST_SEEDS, MOST_SEEDS + 1)
    # Power grows with the number of seeds, so bisection finds the first.
    place = bisect_left(numbers, True, key=is_detected)
    return numbers[place] if place < len(numbers) else None
