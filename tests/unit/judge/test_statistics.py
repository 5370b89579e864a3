"""Intervals, compared with slow loops, scipy and closed forms; coverage."""

import math
import statistics

import numpy as np
import pytest

from replicse.evaluation import bootstrap
from replicse.judge.statistics import intervals as study
from replicse.spec.printed import Spread


def slow_ranks(values):
    """Return the rank of each value; equal values get their mean rank."""
    ranks = []
    for value in values:
        lower = sum(other < value for other in values)
        equal = sum(other == value for other in values)
        ranks.append(lower + (equal + 1) / 2)
    return ranks


def slow_spearman(first, second):
    """Compute Pearson's correlation of the ranks, term by term.

    Returns NaN if a side is constant.
    """
    x, y = slow_ranks(first), slow_ranks(second)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    xx, xy, yy = 0, 0, 0
    for a, b in zip(x, y, strict=True):
        xx += (a - mx) ** 2
        xy += (a - mx) * (b - my)
        yy += (b - my) ** 2
    return xy / math.sqrt(xx * yy) if xx * yy else math.nan


def slow_bootstrap(statistic, columns, samples, level, seed):
    """Compute a percentile bootstrap in a loop over copied resamples.

    Args:
        statistic: Function of several lists.
        columns: Lists of equal length, which are resampled together.
        samples: Number of resamples.
        level: Level of the interval, such as 0.95.
        seed: Seed of the random generator.

    Returns:
        The lower and upper bound.
    """
    count = len(columns[0])
    drawn = np.random.default_rng(seed).integers(count, size=(samples, count))
    kept = []
    for rows in drawn:
        result = statistic(*np.array(columns)[:, rows])
        if not math.isnan(result):
            kept.append(result)
    return np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])


def pairs(count, seed=0, noise=1.0):
    """Return scores of two noisy encoders, and gold scores with ties.

    Args:
        count: Number of pairs.
        seed: Seed of the random generator. Default: 0.
        noise: Standard deviation of the noise. Default: 1.
    """
    generator = np.random.default_rng(seed)
    gold = generator.integers(0, 6, count).astype(float)
    first = gold + noise * generator.normal(size=count)
    second = gold + noise * generator.normal(size=count)
    return np.round(first, 1), np.round(second, 1), gold


# Intervals for a single further run


def test_prediction_interval_of_three_by_hand():
    half = 4.302652730 * 1.0 * math.sqrt(4 / 3)
    assert study.prediction_interval([1.0, 2.0, 3.0]) == pytest.approx((2 - half, 2 + half))


def test_prediction_interval_with_a_known_spread_is_normal():
    assert study.prediction_interval([5.0], spread=Spread(1.0)) == pytest.approx(
        (5 - 2.771808, 5 + 2.771808), abs=1e-5
    )
    assert study.prediction_interval([4.0, 6.0], spread=Spread(1.0)) == pytest.approx(
        (5 - 1.959964 * math.sqrt(1.5), 5 + 1.959964 * math.sqrt(1.5)), abs=1e-5
    )


@pytest.mark.parametrize("count", [3, 10])
def test_prediction_interval_covers_within_two_points_of_its_level(count):
    draws = np.random.default_rng(100 + count).normal(size=(8000, count + 1))
    bounds = np.array([study.prediction_interval(row[1:]) for row in draws])
    inside = (bounds[:, 0] <= draws[:, 0]) & (draws[:, 0] <= bounds[:, 1])
    assert inside.mean() == pytest.approx(study.LEVEL, abs=0.02)


def test_the_mean_of_more_draws_has_a_narrower_interval_than_one():
    half = 4.302652730 * 1.0 * math.sqrt(1 / 3 + 1 / 50)
    assert study.prediction_interval([1.0, 2.0, 3.0], of=50) == pytest.approx((2 - half, 2 + half))
    half = 1.959963985 * 0.84 * math.sqrt(1 + 1 / 50)
    assert study.prediction_interval([5.0], spread=Spread(0.84), of=50) == pytest.approx((5 - half, 5 + half))


# Statistics of several more runs


def draws_of(own, others, seed, trials=4000):
    """Simulate trials with standard deviation 0.84, by default 4,000.

    Returns:
        Arrays of shape (trials, own) and (trials, others).
    """
    draws = 75 + 0.84 * np.random.default_rng(seed).normal(size=(trials, own + others))
    return draws[:, :own], draws[:, own:]


def coverage(bounds, truth):
    low, high = np.array(bounds).T
    return np.mean((low <= truth) & (truth <= high))


@pytest.mark.parametrize(("own", "others"), [(5, 50), (3, 4)])
@pytest.mark.parametrize("spread", [None, 0.84])
def test_the_interval_of_a_mean_of_draws_covers_within_two_points(own, others, spread):
    ours, theirs = draws_of(own, others, own)
    bounds = [study.prediction_interval(row, spread=spread and Spread(spread), of=others) for row in ours]
    assert coverage(bounds, theirs.mean(axis=1)) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(("own", "others", "share"), [(5, 50, 1), (3, 10, 0), (4, 51, 0.5)])
@pytest.mark.parametrize("spread", [None, 0.84])
def test_the_interval_of_an_order_statistic_covers_within_two_points(own, others, share, spread):
    ours, theirs = draws_of(own, others, own)
    bounds = [
        study.order_statistic_interval(row, others, share, spread=spread and Spread(spread)) for row in ours
    ]
    assert coverage(bounds, np.quantile(theirs, share, axis=1)) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("share", [0.3, 1])
@pytest.mark.parametrize("spread", [None, 2.0])
def test_every_order_statistic_of_one_more_draw_is_that_draw(share, spread):
    values = [1.0, 2.0, 4.0, 4.5]
    expected = study.prediction_interval(values, spread=spread and Spread(spread))
    assert study.order_statistic_interval(
        values, 1, share, spread=spread and Spread(spread)
    ) == pytest.approx(expected, rel=2e-3)


def test_the_largest_draw_with_a_known_spread_by_hand():
    """The largest of m runs should have the interval of the closed form.

    If we have many runs, the mean is known, so the largest of m runs is below x with probability Phi(x)^m,
    where Phi is the normal distribution function.
    """
    from scipy.stats import norm

    low, high = study.order_statistic_interval([10.0] * 100_000, 50, 1.0, spread=Spread(2.0))
    assert (low, high) == pytest.approx(tuple(10 + 2 * norm.ppf(np.power([0.025, 0.975], 1 / 50))), abs=1e-3)


def test_the_interval_of_a_standard_deviation_is_that_of_an_f_ratio():
    from scipy.stats import f

    values = [1.0, 2.0, 3.0, 5.0]
    expected = statistics.stdev(values) * np.sqrt(f.ppf([0.025, 0.975], 49, 3))
    assert study.spread_interval(values, 50) == pytest.approx(tuple(expected))
    assert study.spread_interval(values, 1) is None


def test_below_three_seeds_nothing_has_an_interval_of_its_own():
    """An interval requires at least three seeds.

    With two seeds, Student's t has one degree of freedom, so the half-width would be 12.7 standard
    deviations.
    """
    for values in ([75.0], [55.14, 55.16], [50.0, 100.0]):
        assert study.spread_of(values) is None
        assert study.prediction_interval(values) is None
        assert study.order_statistic_interval(values, 20, 1.0) is None
        assert study.spread_interval(values, 50) is None
        found = study.paired_difference(values, [70.0])
        assert (found.low, found.high, found.n, found.resolved) == (None, None, len(values), False)
        assert found.by_seed == tuple(value - 70.0 for value in values)
    assert study.prediction_interval([75.0, 76.0], spread=Spread(0.84)) is not None, (
        "a spread known beforehand is one"
    )
    assert study.spread_of([1.0, 2.0, 3.0]) == 1.0 and study.prediction_interval([1.0, 2.0, 3.0]) is not None


# Rank correlations


def test_spearman_interval_against_a_slow_bootstrap():
    first, _, gold = pairs(30)
    estimate = bootstrap.spearman_interval(first, gold, samples=41, seed=3)
    assert estimate.value == pytest.approx(slow_spearman(first, gold), abs=1e-12)
    expected = slow_bootstrap(slow_spearman, (first, gold), 41, 0.95, seed=3)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected), abs=1e-12)


# Crossed design


def test_components_of_a_crossed_design_by_hand():
    # Rows differ by 3 and columns by 1, so the variance within a row is the effect of the columns.
    found = study.variance_components([[0.0, 1.0], [3.0, 4.0]])
    assert found == study.Components(pytest.approx(math.sqrt(4.5)), pytest.approx(math.sqrt(0.5)))


def test_rows_that_differ_less_than_their_interaction_have_no_component():
    assert study.variance_components([[0.0, 1.0], [1.0, 0.0]]).between == 0


@pytest.mark.parametrize("table", [[[1.0, 2.0]], [[1.0], [2.0]], [[1.0, None], [2.0, 3.0]], []])
def test_no_components_of_what_is_no_whole_design(table):
    assert study.variance_components(table) is None
