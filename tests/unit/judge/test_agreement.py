"""Test order, best row and signs against examples and slow loops."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicse.judge.statistics.agreement import BestRow, best_row, rank_agreement, row_differences
from replicse.judge.statistics.intervals import Paired, p_of_mean, pair_by_seed, paired_difference

REPORTED = {"none": 82.5, "crop": 77.8, "deletion": 75.9, "mlm": 62.2}


def slow_tau(first, second):
    """Compute Kendall's tau-b in a loop over pairs.

    Concordant minus discordant pairs, divided by sqrt(n_1 n_2), where n_1 and n_2 are the numbers of untied
    pairs of each side.
    """
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
    """Return a dict from a row to scores by seed around the reported number.

    Args:
        spread: Standard deviation. Default: 0.5.
        count: Number of seeds. Default: 5.
        seed: Seed of the random generator. Default: 0.
        reported: Dict from a row to a number. Default: `REPORTED`.
    """
    generator = np.random.default_rng(seed)
    return {
        row: (number + spread * generator.normal(size=count)).tolist() for row, number in reported.items()
    }


# Kendall's tau


@pytest.mark.parametrize("rows", [3, 5])
def test_rank_agreement_against_all_orders(rows):
    generator = np.random.default_rng(rows)
    printed, values = generator.normal(size=(2, rows)).tolist()
    found = rank_agreement(dict(enumerate(printed)), {row: [value] for row, value in enumerate(values)})
    tau = slow_tau(values, printed)
    orders = [slow_tau(order, printed) for order in itertools.permutations(values)]
    as_extreme = [each for each in orders if abs(each) >= abs(tau) - 1e-9]
    assert (found.tau, found.p) == pytest.approx((tau, len(as_extreme) / len(orders)))


def test_rank_agreement_is_of_means_over_seeds_in_rows_with_both_numbers():
    ours = {**seeded(spread=0.01, count=10), "mlm": [50.0, None, 66.0], "unprinted": [1.0]}
    found = rank_agreement({**REPORTED, "not run": 1.0}, ours)
    assert (found.tau, found.p, found.n_rows) == (1.0, pytest.approx(2 / math.factorial(4)), 4)


def test_tied_rows_agree_by_tau_b_and_equal_rows_have_no_order():
    found = rank_agreement({"a": 1.0, "b": 1.0, "c": 2.0, "d": 3.0}, {row: [ord(row)] for row in "abcd"})
    assert found.tau == pytest.approx(slow_tau([97, 98, 99, 100], [1, 1, 2, 3]))
    assert rank_agreement(REPORTED, {row: [1.0] for row in REPORTED}) is None
    assert rank_agreement(REPORTED, {"none": [1.0]}) is None


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


# Paired differences


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=8), st.integers(0, 99))
def test_a_paired_interval_is_that_of_a_t_test(first, seed):
    from scipy.stats import ttest_rel

    second = (np.array(first) + np.random.default_rng(seed).normal(size=len(first))).tolist()
    found = paired_difference(first, second)
    expected = ttest_rel(first, second)
    low, high = expected.confidence_interval(0.95)
    assert p_of_mean(found, found.n - 1) == pytest.approx(expected.pvalue, rel=1e-6)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert found.mean == pytest.approx(float(np.mean(np.subtract(first, second))), abs=1e-9)


def test_pairs_are_the_seeds_that_both_sides_have():
    assert paired_difference([1.0, None, 3.0, math.inf], [5.0, 6.0, math.nan, 7.0]).by_seed == (-4.0,)
    assert paired_difference([1.0], [5.0, None, 7.0]).by_seed == (-4.0, -6.0)
    assert paired_difference([None], [1.0, 2.0]) is None
    for first, second in (([1.0, 2.0], [1.0, 2.0, 3.0]), ([], [1.0, 2.0])):
        with pytest.raises(ValueError, match="cannot be paired"):
            pair_by_seed([first, second])
