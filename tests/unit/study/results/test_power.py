"""Power of the verdict of a cell: closed forms against simulation, and the bounds of what seeds tell."""

import math

import numpy as np
import pytest

from replicse.study.results.power import power, seeds_for, smallest_gap
from replicse.study.results.statistics import order_statistic_interval, t_quantile

DRAWS = 10_000


def drawn(seeds, of, gap, reduce):
    """Return mean and deviation of our seeds, and a printed number of other runs, in each of many studies."""
    random = np.random.default_rng(seeds + of)
    ours, theirs = random.normal(size=(DRAWS, seeds)), random.normal(size=(DRAWS, of)) + gap
    return ours.mean(axis=1), ours.std(axis=1, ddof=1), reduce(theirs, axis=1)


def close(share, expected):
    """Return whether a share of the draws is within four standard errors of what is expected."""
    return abs(share - expected) <= 4 * math.sqrt(expected * (1 - expected) / DRAWS)


@pytest.mark.parametrize(("seeds", "of", "gap"), [(3, 1, 8.0), (5, 1, 4.0), (5, 5, 2.0), (10, 1, 0.0)])
def test_the_power_against_a_run_or_a_mean_is_that_of_simulated_studies(seeds, of, gap):
    mean, deviation, printed = drawn(seeds, of, gap, np.mean)
    half = t_quantile(seeds - 1) * deviation * math.sqrt(1 / of + 1 / seeds)
    assert close((abs(printed - mean) > half).mean(), power(gap, seeds, of=of))
    half = 1.959964 * math.sqrt(1 / of + 1 / seeds)
    assert close((abs(printed - mean) > half).mean(), power(gap, seeds, of=of, known=True))


def test_the_power_against_a_maximum_is_that_of_simulated_studies():
    mean, deviation, printed = drawn(5, 4, 3.0, np.max)
    edge = math.sqrt(2)
    low, high = order_statistic_interval([-edge, edge, 0.0, 0.0, 0.0], 4, 1.0)
    outside = ((printed - mean) / deviation < low) | ((printed - mean) / deviation > high)
    assert close(outside.mean(), power(3.0, 5, of=4, share=1.0))


def test_no_number_of_seeds_tells_a_gap_that_one_printed_run_hides():
    # (1.96 + 0.84) standard deviations: print stays one draw.
    assert seeds_for(2.8) is None
    assert seeds_for(3.0) == 23 and seeds_for(-3.0) == 23
    assert seeds_for(2.0, of=5) is not None
    assert smallest_gap(1000) == pytest.approx(2.8, abs=0.02)


@pytest.mark.parametrize("known", [False, True])
def test_the_smallest_gap_has_the_wanted_power_and_asks_for_so_many_seeds(known):
    gap = smallest_gap(5, known=known)
    assert power(gap, 5, known=known) == pytest.approx(0.8, abs=1e-4)
    assert seeds_for(gap * 1.0001, known=known) == 5


def test_below_three_seeds_nothing_is_told_without_a_known_spread():
    assert power(9.0, 2) is None and smallest_gap(2) is None
    assert smallest_gap(1, known=True) == pytest.approx(2.8016 * math.sqrt(2), abs=0.01)


def test_without_a_seed_nothing_is_told():
    assert power(1.0, 0, known=True) is None and smallest_gap(0, known=True) is None
