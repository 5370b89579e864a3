"""Agreement of order, best row and signs: by hand, against scipy and slow loops, and as properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicse.judge.agreement import BestRow, best_row, row_differences
from replicse.judge.kendall import kendall_tau, rank_agreement
from replicse.judge.statistics import Paired, paired, paired_difference

REPORTED = {"none": 82.5, "crop": 77.8, "deletion": 75.9, "mlm": 62.2}


def slow_tau(first, second):
    """Concordant minus discordant pairs over the root of the untied pairs of each side."""
    both = only_first = only_second = 0
    for i in range(len(first)):
        for j in range(i):
            x = (first[i] > first[j]) - (first[i] < first[j])
            y = (second[i] > second[j]) - (second[i] < second[j])
            both += x * y
            only_first += abs(x)
            only_second += abs(y)
    return both / math.sqrt(only_first * only_second) if only_first * only_second else math.nan


def seeded(spread=0.5, count=5, seed=0, reported=REPORTED):
    """Our values scattered around the reported ones."""
    generator = np.random.default_rng(seed)
    return {
        row: (number + spread * generator.normal(size=count)).tolist() for row, number in reported.items()
    }


# Kendall's tau

small = st.lists(st.integers(0, 5), min_size=2, max_size=9)


@given(st.data(), small)
def test_tau_against_a_slow_loop(data, first):
    second = data.draw(st.lists(st.integers(0, 5), min_size=len(first), max_size=len(first)))
    found = float(kendall_tau(np.array(first), np.array(second)))
    assert found == pytest.approx(slow_tau(first, second), nan_ok=True)


@pytest.mark.parametrize("rows", [4, 7])
def test_the_exact_p_is_scipys(rows):
    from scipy.stats import kendalltau

    generator = np.random.default_rng(rows)
    first, second = generator.normal(size=(2, rows))
    names = [f"row {index}" for index in range(rows)]
    agreement = rank_agreement(
        dict(zip(names, first, strict=True)),
        {name: [value] for name, value in zip(names, second, strict=True)},
    )
    expected = kendalltau(first, second, method="exact")
    assert (agreement.tau, agreement.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_the_interval_over_seeds_against_a_slow_bootstrap():
    ours = seeded(spread=4, count=10)
    agreement = rank_agreement(REPORTED, ours, samples=50)
    generator = np.random.default_rng(0)
    drawn = [generator.integers(10, size=(50, 10)) for _ in ours]
    target = list(REPORTED.values())
    taus = []
    for sample in range(50):
        means = [
            sum(values[place] for place in drawn[row][sample]) / 10
            for row, values in enumerate(ours.values())
        ]
        taus.append(slow_tau(means, target))
    assert (agreement.low, agreement.high) == pytest.approx(tuple(np.quantile(taus, [0.025, 0.975])))
    assert agreement.low < agreement.high


def test_an_order_kept_by_every_seed_has_no_width_and_one_seed_no_interval():
    kept = rank_agreement(REPORTED, seeded(spread=0.01, count=10))
    assert (kept.tau, kept.low, kept.high, kept.n_rows) == (1.0, 1.0, 1.0, 4)
    assert kept.p == pytest.approx(2 / math.factorial(4))
    agreement = rank_agreement(REPORTED, seeded(count=1))
    assert agreement.tau == 1.0
    assert (agreement.low, agreement.high) == (None, None)


# The best row


def test_the_best_row_kept_and_lost():
    kept = best_row(REPORTED, seeded(spread=0.1))
    assert (kept.reported, kept.ours, kept.kept) == (("none",), ("none",), True)
    lost = best_row(REPORTED, {**seeded(spread=0.1), "crop": [90.0] * 5})
    assert (lost.reported, lost.ours, lost.kept) == (("none",), ("crop",), False)


def test_lower_is_better_for_alignment_and_uniformity():
    reported = {"a": -2.5, "b": -1.0}
    ours = {"a": [-2.0, -2.1], "b": [-1.5, -1.4]}
    assert best_row(reported, ours, better="lower") == BestRow(("a",), ("a",))
    assert best_row(reported, ours) == BestRow(("b",), ("b",))


# Signs of the ablations


def test_signs_by_hand():
    reported = {"base": 82.5, "worse": 82.2, "better": 83.0, "same": 82.5}
    ours = {
        "base": [50.0, 51.0, 52.0],
        "worse": [49.0, 51.5, 50.0],
        "better": [49.0, 50.0, 51.0],
        "same": [1, 2, 3],
    }
    worse, better, same = row_differences(reported, ours, "base")
    assert (worse.row, worse.printed, worse.ours.n) == ("worse", -0.3, 3)
    spread = math.sqrt(((-1 + 2.5 / 3) ** 2 + (0.5 + 2.5 / 3) ** 2 + (-2 + 2.5 / 3) ** 2) / 2)
    half = 4.302652730 * spread / math.sqrt(3)
    expected = (-2.5 / 3, -2.5 / 3 - half, -2.5 / 3 + half)
    assert (worse.ours.mean, worse.ours.low, worse.ours.high) == pytest.approx(expected)
    assert (worse.agrees, worse.ours.resolved) == (True, False)
    assert (better.printed, better.ours) == (0.5, Paired(-1.0, -1.0, -1.0, (-1.0, -1.0, -1.0)))
    assert (better.agrees, better.ours.resolved) == (False, True)
    assert (same.printed, same.agrees) == (0.0, None)


def test_a_missing_seed_leaves_its_pair_out():
    ours = {"base": [1.0, None, 3.0, 4.0], "row": [2.0, 5.0, math.nan, 6.0]}
    (sign,) = row_differences({"base": 1.0, "row": 2.0}, ours, "base")
    assert (sign.ours.n, sign.ours.mean) == (2, 1.5)


def test_one_seed_has_a_sign_but_resolves_nothing():
    (sign,) = row_differences({"base": 1.0, "row": 2.0}, {"base": [1.0], "row": [9.0]}, "base")
    assert (sign.agrees, sign.ours.resolved, sign.ours) == (True, False, Paired(8.0, None, None, (8.0,)))


@pytest.mark.parametrize("count", [2, 3, 9])
def test_fewer_than_ten_seeds_are_not_redrawn(count):
    """Redrawing three seeds held the true order in 85% of studies."""
    found = rank_agreement(REPORTED, seeded(count=count))
    assert (found.low, found.high) == (None, None) and found.tau is not None
    mixed = {**seeded(count=10), "crop": seeded()["crop"][:2]}
    assert rank_agreement(REPORTED, mixed).low is None, "a row of two seeds would seem to have no spread"


# Paired differences


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=8), st.integers(0, 99))
def test_a_paired_interval_is_that_of_a_t_test(first, seed):
    from scipy.stats import ttest_rel

    second = (np.array(first) + np.random.default_rng(seed).normal(size=len(first))).tolist()
    found = paired_difference(first, second)
    low, high = ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert found.mean == pytest.approx(float(np.mean(np.subtract(first, second))), abs=1e-9)


def test_pairs_are_the_seeds_that_both_sides_have():
    assert paired_difference([1.0, None, 3.0, math.inf], [5.0, 6.0, math.nan, 7.0]).by_seed == (-4.0,)
    assert paired_difference([1.0], [5.0, None, 7.0]).by_seed == (-4.0, -6.0)
    assert paired_difference([None], [1.0, 2.0]) is None
    for first, second in (([1.0, 2.0], [1.0, 2.0, 3.0]), ([], [1.0, 2.0])):
        with pytest.raises(ValueError, match="cannot be paired"):
            paired([first, second])
