"""Two encoders on the same test pairs."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from replicse.study.results.pairs import difference_over_pairs, packed_pairs, unpacked

GENERATOR = np.random.default_rng(3)
GOLD = np.round(GENERATOR.uniform(0, 5, 200), 1)


def noisy(spread, seed):
    return GOLD + np.random.default_rng(seed).normal(0, spread, len(GOLD))


def test_pairs_survive_packing():
    packed = packed_pairs(noisy(1, 0), GOLD)
    assert unpacked(packed["cosine"]) == pytest.approx(noisy(1, 0), abs=1e-6)
    assert unpacked(packed["gold"]) == pytest.approx(GOLD, abs=1e-6)


def test_the_difference_is_that_of_the_correlations_and_its_interval_is_paired():
    first, second = packed_pairs(noisy(1, 0), GOLD), packed_pairs(noisy(4, 1), GOLD)
    found = difference_over_pairs(first, second)
    expected = spearmanr(noisy(1, 0), GOLD).statistic - spearmanr(noisy(4, 1), GOLD).statistic
    assert found.value == pytest.approx(100 * expected, abs=1e-3)
    assert 0 < found.low < found.value < found.high


def test_an_encoder_does_not_differ_from_itself():
    side = packed_pairs(noisy(2, 0), GOLD)
    found = difference_over_pairs(side, side)
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_other_pairs_and_constant_sides_have_no_difference():
    side = packed_pairs(noisy(2, 0), GOLD)
    assert difference_over_pairs(side, packed_pairs(noisy(2, 0), GOLD[::-1])) is None
    assert difference_over_pairs(side, packed_pairs(np.ones_like(GOLD), GOLD)) is None
