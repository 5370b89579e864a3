"""Test the power of verdicts: closed forms, simulation, and limits."""

import math

import numpy as np
import pytest
from scipy.special import fdtr, stdtrit

from replicse.judge.statistics.intervals import order_statistic_interval
from replicse.judge.statistics.power import power, seeds_for, smallest_gap
from replicse.spec.printed import Spread

DRAWS = 20_000


def drawn(seeds, of, gap, reduce):
    """Simulate studies.

    Args:
        seeds: Number of our seeds.
        of: Number of runs of the published number.
        gap: Difference between the paper's mean and our mean.
        reduce: Function that aggregates the paper's runs, such as `np.mean`.

    Returns:
        Arrays of our means, our standard deviations, and published numbers, with a value for each simulated
            study.
    """
    random = np.random.default_rng(seeds + of)
    ours, theirs = random.normal(size=(DRAWS, seeds)), random.normal(size=(DRAWS, of)) + gap
    return ours.mean(axis=1), ours.std(axis=1, ddof=1), reduce(theirs, axis=1)


def close(share, expected):
    """Return whether a share is within four standard errors of `expected`."""
    return abs(share - expected) <= 4 * math.sqrt(expected * (1 - expected) / DRAWS)


@pytest.mark.parametrize(
    ("seeds", "of", "runs"), [(3, 1, 0), (5, 1, 0), (5, 5, 0), (1, 1, 50), (5, 1, 50), (10, 1, 4)]
)
def test_the_power_is_that_of_the_verdict_in_simulated_studies(seeds, of, runs):
    """The power should equal the share of simulated studies with a verdict.

    As in the verdict, a published standard deviation is pooled with ours unless an F test rejects it.
    """
    random = np.random.default_rng(seeds + of)
    gap = smallest_gap(seeds, of=of, borrowed=max(0, runs - 1))
    mean = random.normal(size=DRAWS) / math.sqrt(seeds)
    printed = random.normal(size=DRAWS) / math.sqrt(of) + gap
    squares = random.chisquare(seeds - 1, DRAWS) if seeds > 1 else np.zeros(DRAWS)
    degrees = np.full(DRAWS, seeds - 1)
    if runs:
        published = random.chisquare(runs - 1, DRAWS)
        below = (
            fdtr(seeds - 1, runs - 1, squares / (seeds - 1) / published * (runs - 1)) if seeds > 1 else 0.5
        )
        agree = 2 * np.minimum(below, 1 - below) >= 0.01
        squares, degrees = squares + agree * published, degrees + agree * (runs - 1)
    half = stdtrit(degrees, 0.975) * np.sqrt(squares / degrees * (1 / of + 1 / seeds))
    assert close((abs(printed - mean) > half).mean(), 0.8)


def test_the_power_against_a_maximum_is_that_of_simulated_studies():
    mean, deviation, printed = drawn(5, 4, 3.0, np.max)
    low, high = order_statistic_interval([0.0] * 5, 4, 1.0, spread=Spread(1.0, 4))
    outside = ((printed - mean) / deviation < low) | ((printed - mean) / deviation > high)
    assert close(outside.mean(), power(3.0, 5, of=4, share=1.0))


def test_no_number_of_seeds_tells_a_gap_that_one_printed_run_hides():
    # 1.96 + 0.84 standard deviations, because the published number is a single run.
    assert seeds_for(2.8) is None
    assert seeds_for(3.0) == 23 and seeds_for(-3.0) == 23
    assert seeds_for(2.0, of=5) is not None
    assert smallest_gap(1000) == pytest.approx(2.8, abs=0.02)


@pytest.mark.parametrize("borrowed", [0, 49, math.inf])
def test_the_smallest_gap_has_the_wanted_power_and_asks_for_so_many_seeds(borrowed):
    gap = smallest_gap(5, borrowed=borrowed)
    assert power(gap, 5, borrowed=borrowed) == pytest.approx(0.8, abs=1e-4)
    assert seeds_for(gap * 1.0001, borrowed=borrowed) == 5


def test_below_three_seeds_nothing_is_told_without_a_known_spread():
    assert power(9.0, 2) is None and smallest_gap(2) is None
    assert smallest_gap(1, borrowed=math.inf) == pytest.approx(2.8016 * math.sqrt(2), abs=0.01)


def test_without_a_seed_nothing_is_told():
    assert power(1.0, 0, borrowed=math.inf) is None and smallest_gap(0, borrowed=math.inf) is None
