import itertools

import numpy as np
import pytest
from small_stsb import RandomVectors

from replicse.data.sts import StsSubset
from replicse.evaluation import geometry
from replicse.evaluation.geometry import alignment, measure_pairs, normalised, uniformity


def random_directions(count, dimensions=6, seed=0):
    """Return random vectors of length 1, by default with 6 dimensions."""
    return normalised(np.random.default_rng(seed).standard_normal((count, dimensions)))


def slow_uniformity(vectors):
    pairs = itertools.combinations(vectors.astype(np.float64), 2)
    return np.log(np.mean([np.exp(-2 * ((left - right) ** 2).sum()) for left, right in pairs]))


@pytest.mark.parametrize("count", [2, 8, 9, 40])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_uniformity_agrees_with_a_loop_over_all_pairs_whatever_the_blocks(count, kind, monkeypatch):
    monkeypatch.setattr(geometry, "_BLOCK", 4)
    vectors = random_directions(count).astype(kind)
    vectors[1] = vectors[0]  # duplicates are used
    assert uniformity(vectors) == pytest.approx(slow_uniformity(vectors), abs=1e-6)


def test_vectors_that_are_not_of_length_1_are_refused():
    good = random_directions(3)
    for bad in (good * 1.01, np.full((3, 6), np.nan)):
        for measure, vectors in ((uniformity, [bad]), (alignment, [good, bad]), (alignment, [bad, good])):
            with pytest.raises(ValueError, match="length 1"):
                measure(*vectors)


SUBSETS = {
    "train": StsSubset("STS-B", ("a", "b"), ("c", "d"), np.array([4.0, 4.01])),
    "dev": StsSubset("STS-B", ("a",), ("d",), np.array([5.0])),
    "test": StsSubset("STS-B", ("b",), ("a",), np.array([1.0])),
}


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(geometry, "load_sts", lambda root, task, split: (SUBSETS[split],))


def test_the_suite_pools_all_splits_and_takes_scores_above_4(stand_in, tmp_path):
    vectors = dict(zip("abcd", 3 * random_directions(4), strict=True))
    found = geometry.evaluate(tmp_path, RandomVectors(6, fixed=vectors))
    unit = {name: row / 3 for name, row in vectors.items()}
    distances = [((unit["b"] - unit["d"]) ** 2).sum(), ((unit["a"] - unit["d"]) ** 2).sum()]
    slots = [unit[name] for name in "acbdadba"]
    assert found == {
        "alignment": pytest.approx(np.mean(distances), abs=1e-6),
        "uniformity": pytest.approx(slow_uniformity(np.array(slots)), abs=1e-6),
        "n_positive": 2,
        "n_sentences": 8,
    }
    assert sorted(geometry.sentences(tmp_path)) == sorted("acbdadba")


@pytest.mark.parametrize("broken", [0.0, np.nan])
def test_vectors_that_cannot_be_normalised_give_none_and_a_reason(stand_in, tmp_path, broken):
    vectors = dict(zip("abcd", random_directions(4), strict=True))
    vectors["c"] = np.full(6, broken)
    found = geometry.evaluate(tmp_path, RandomVectors(6, fixed=vectors))
    assert found["alignment"] is None and found["uniformity"] is None
    for name in ("alignment", "uniformity"):
        assert "zero or not finite" in found["failures"][name]
    assert found["n_sentences"] == 8


def test_pairs_without_a_positive_pair_have_neither_number_and_a_reason():
    vectors = np.eye(2)
    result, reason = measure_pairs(vectors, vectors, np.array([1.0, 4.0]), 4)
    assert result == {"alignment": None, "uniformity": None, "n_positive": 0}
    assert reason == "no pair has a score above 4"
