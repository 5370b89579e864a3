"""Power before running: the smallest difference that so many seeds detect, and the seeds that a difference needs.

A difference is detected if the printed number is outside the interval of `verdict.expected`. For a single run or a
mean the probability is that of a noncentral t distribution, with the degrees of freedom of our seeds and of a published
spread that is pooled with them; for an order statistic it is integrated over our mean and standard deviation. It is
the power of one cell's verdict, before the verdicts of a paper are controlled for their number.
"""

import math
from bisect import bisect_left
from functools import cache

from replicse.judge.statistics import (
    order_statistic_below,
    order_statistic_interval,
    t_quantile,
)
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.printed import Spread

POWER = 0.8
MOST_SEEDS = 1000
# A difference of so many standard errors is always detected; a little further out ncfdtr returns NaN.
CERTAIN = 35.0


def power(
    gap: float,
    seeds: int,
    *,
    of: int = 1,
    share: float | None = None,
    borrowed: float = 0.0,
) -> float | None:
    """Return the probability that so many seeds detect a difference from the printed number.

    Args:
        gap: the difference, in standard deviations over seeds.
        seeds: how many runs of ours there are.
        of: how many runs the printed number is the mean or an order statistic of.
        share: which order statistic it is, 0 the minimum and 1 the maximum; None for a mean.
        borrowed: degrees of freedom of a published spread that is pooled with ours.

    Returns:
        The power; None without seeds, and below three seeds without a published spread.
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
    """Return the smallest gap, in standard deviations, that so many seeds detect with power 0.8.

    None below three seeds where no spread is borrowed.
    """
    if power(1.0, seeds, of=of, share=share, borrowed=borrowed) is None:
        return None

    def detected(step: int) -> float:
        return power(step / 1e6, seeds, of=of, share=share, borrowed=borrowed) or 0.0

    return bisect_left(range(200_000_000), POWER, key=detected) / 1e6


def seeds_for(gap: float, *, of: int = 1, share: float | None = None, borrowed: float = 0.0) -> int | None:
    """Return the fewest seeds that detect a gap, in standard deviations, with power 0.8; None where no number does.

    However many seeds there are, one printed run stays one draw: below 2.8 standard deviations none detects it.
    """

    def detected(seeds: int) -> bool:
        return (power(abs(gap), seeds, of=of, share=share, borrowed=borrowed) or 0.0) >= POWER

    numbers = range(1 if borrowed else FEWEST_SEEDS, MOST_SEEDS + 1)
    # From some number of seeds on the gap is detected: found by halving.
    place = bisect_left(numbers, True, key=detected)
    return numbers[place] if place < len(numbers) else None
