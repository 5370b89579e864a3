import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from replicse.evaluation import bootstrap
from replicse.evaluation.correlation import cosines, pearson, spearman

relaxed = settings(max_examples=40)
# Only a few values, to make ties common.
VALUES = st.lists(st.sampled_from([-1.5, 0.0, 0.25, 1e-9, 3.0, 7e5]), min_size=2, max_size=30)


@relaxed
@given(VALUES, st.integers(0, 2**32 - 1))
def test_spearman_is_scipys(values, seed):
    left = np.array(values)
    right = np.random.default_rng(seed).integers(0, 4, len(left)).astype(float)
    found = spearman(left, right)
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(left, right).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []),
        ([1.0], [2.0]),
        ([np.nan, 1.0], [1.0, 2.0]),
        # The mean of three times 0.1 is not exactly 0.1.
        ([0.1, 0.1, 0.1], [0.0, 0.0, 1.0]),
        ([0.0, 0.0, 1.0], [0.1, 0.1, 0.1]),
    ],
)
def test_an_undefined_correlation_is_none_and_never_zero(left, right):
    assert spearman(np.array(left, float), np.array(right, float)) is None
    assert pearson(np.array(left, float), np.array(right, float)) is None


def test_cosines_agree_with_the_formula_and_are_0_for_zero_vectors():
    left, right = np.random.default_rng(1).standard_normal((2, 7, 5)).astype(np.float32)
    left[3] = 0
    products = (left.astype(float) * right).sum(axis=1)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    expected = np.divide(products, lengths, out=np.zeros(7), where=lengths > 0)
    np.testing.assert_allclose(cosines(left, right), expected, atol=1e-6)


def test_pairs_of_equal_vectors_tie_exactly():
    vectors = np.random.default_rng(2).standard_normal((500, 64)).astype(np.float32)
    assert (cosines(vectors, 3 * vectors) == 1).all()


def test_the_interval_of_a_large_set_is_nearly_that_of_resampling_all_of_it(monkeypatch):
    generator = np.random.default_rng(5)
    gold = generator.integers(0, 6, 20_000).astype(float)
    scores = gold + generator.normal(0, 3, len(gold))
    whole = bootstrap.spearman_interval(scores, gold, samples=400)
    monkeypatch.setattr(bootstrap, "MOST_ROWS", 2000)
    part = bootstrap.spearman_interval(scores, gold, samples=400)
    assert part.value == whole.value == pytest.approx(spearmanr(scores, gold).statistic)
    assert part.low < part.value < part.high
    assert part.high - part.low == pytest.approx(whole.high - whole.low, rel=0.15)
    assert (part.low, part.high) == pytest.approx((whole.low, whole.high), abs=0.002)
