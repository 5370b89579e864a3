"""Power before running: the smallest difference that so many seeds detect, and the seeds that a difference needs.

A gap is given where the printed number lies outside of the interval of `verdict.expected`. For a single run or a mean
the probability is that of a noncentral t distribution, with the degrees of a published spread where it is pooled with
ours; for an order statistic it is integrated over our mean and standard deviation. Of the verdict of one cell, before
those of a paper are controlled for their number.
"""

import math
from bisect import bisect_left
from functools import cache
from statistics import NormalDist

from replicse.judge.statistics import (
    order_statistic_below,
    order_statistic_interval,
    t_below,
    t_quantile,
)
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.printed import Spread

POWER = 0.8
MOST_SEEDS = 1000
# A noncentral t that far from zero is beyond every quantile here.
FARTHEST = 36.0


def power(
    gap: float,
    seeds: int,
    *,
    of: int = 1,
    share: float | None = None,
    borrowed: float = 0.0,
) -> float | None:
    """Return how probably a gap, in standard deviations, is given from print by so many seeds.

    Print is the mean of `of` runs, or with `share` their order statistic there (1 the largest). `borrowed` are the
    degrees of freedom of a published spread that is pooled with that of the seeds. None without a seed, and below
    three where nothing is borrowed.
    """
    if seeds < (1 if borrowed else FEWEST_SEEDS):
        return None
    degrees = seeds - 1 + borrowed
    if share is not None:
        interval = order_statistic_interval([0.0] * seeds, of, share, spread=Spread(1.0, degrees)) or ()
        inside = [order_statistic_below(bound, seeds, of, share, degrees, gap) for bound in interval]
        return 1 - (inside[1] - inside[0])
    shift = gap / math.sqrt(1 / of + 1 / seeds)
    edge = t_quantile(degrees)
    return _beyond(edge, degrees, shift) + _beyond(edge, degrees, -shift)


def _beyond(edge: float, degrees: float, shift: float) -> float:
    """Return how probably a noncentral t is above an edge."""
    if abs(shift) > FARTHEST:
        return float(shift > 0)
    if math.isinf(degrees):
        return t_below(shift - edge, degrees)
    normal = NormalDist()
    return math.fsum(weight * normal.cdf(shift - edge * spread) for spread, weight in _spreads(degrees))


@cache
def _spreads(degrees: float) -> list[tuple[float, float]]:
    """Return points and weights of an integral over the estimate of a standard deviation of 1.

    In equal steps of its logarithm, right to 1e-7; scipy.special takes longer to import than a verb has.
    """
    step, wide = 0.04 / math.sqrt(degrees), 8 / math.sqrt(2 * degrees)
    steps = range(-int((27 / degrees + wide) / step), int(wide / step))
    constant = math.log(2 * step) + degrees / 2 * math.log(degrees / 2) - math.lgamma(degrees / 2)
    places = ((step * each, degrees * step * each) for each in steps)
    return [(math.exp(u), math.exp(constant + v - degrees * math.exp(2 * u) / 2)) for u, v in places]


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
