"""Power before running: the smallest gap to print that so many seeds tell, and the seeds that a gap asks for.

A gap is given where the printed number lies outside of the interval of `verdict.expected`. For a single run or a mean
the probability is that of a noncentral t distribution (normal where the spread is known beforehand); for an order
statistic it is integrated over our mean and standard deviation.
"""

import math
from bisect import bisect_left
from functools import cache

from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.study.results.statistics import order_statistic_below, order_statistic_interval, t_quantile

POWER = 0.8
MOST_SEEDS = 1000
# A noncentral t that far from zero is beyond every quantile here, and beyond what scipy computes.
FARTHEST = 36.0


def power(
    gap: float,
    seeds: int,
    *,
    of: int = 1,
    share: float | None = None,
    known: bool = False,
) -> float | None:
    """Return how probably a gap, in standard deviations, is given from print by so many seeds.

    Print is the mean of `of` runs, or with `share` their order statistic there (1 the largest). `known` says that the
    standard deviation is known beforehand. None without a seed, and below three where it is not known.
    """
    if seeds < (1 if known else FEWEST_SEEDS):
        return None
    from scipy.special import ndtr, ndtri

    if share is not None:
        # Only how far apart the seeds are counts: three at -1, 0 and 1 have a standard deviation of 1.
        bounds = order_statistic_interval([0.0] * seeds, of, share, spread=1.0) if known else None
        low, high = bounds or _unit_interval(seeds, of, share)
        inside = [order_statistic_below(bound, seeds, of, share, known, gap) for bound in (low, high)]
        return 1 - (inside[1] - inside[0])
    shift = gap / math.sqrt(1 / of + 1 / seeds)
    if known:
        edge = float(ndtri((1 + LEVEL) / 2))
        return float(ndtr(shift - edge) + ndtr(-shift - edge))
    edge = t_quantile(seeds - 1)
    return _beyond(edge, seeds - 1, shift) + _beyond(edge, seeds - 1, -shift)


def _beyond(edge: float, degrees: int, shift: float) -> float:
    """Return how probably a noncentral t is above an edge."""
    if abs(shift) > FARTHEST:
        return float(shift > 0)
    from scipy.special import nctdtr

    return 1 - float(nctdtr(degrees, shift, edge))


def _unit_interval(seeds: int, of: int, share: float) -> tuple[float, float]:
    """Return the interval of an order statistic from seeds with mean 0 and standard deviation 1."""
    edge = math.sqrt((seeds - 1) / 2)
    return order_statistic_interval([-edge, edge, *[0.0] * (seeds - 2)], of, share)


@cache
def smallest_gap(seeds: int, *, of: int = 1, share: float | None = None, known: bool = False) -> float | None:
    """Return the smallest gap, in standard deviations, that so many seeds tell from print with power 0.8.

    None below three seeds where the spread is not known beforehand.
    """
    if power(1.0, seeds, of=of, share=share, known=known) is None:
        return None
    from scipy.optimize import brentq

    def short(gap: float) -> float:
        return (power(gap, seeds, of=of, share=share, known=known) or 0.0) - POWER

    return float(brentq(short, 0.0, 200.0, xtol=1e-6))


def seeds_for(gap: float, *, of: int = 1, share: float | None = None, known: bool = False) -> int | None:
    """Return the fewest seeds that tell a gap, in standard deviations, with power 0.8; None where no number does.

    However many seeds there are, one printed run stays one draw: below 2.8 standard deviations none tells it.
    """

    def told(seeds: int) -> bool:
        return (power(abs(gap), seeds, of=of, share=share, known=known) or 0.0) >= POWER

    numbers = range(1 if known else FEWEST_SEEDS, MOST_SEEDS + 1)
    # From some number of seeds on the gap is told: found by halving.
    place = bisect_left(numbers, True, key=told)
    return numbers[place] if place < len(numbers) else None
