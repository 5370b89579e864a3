"""Densities of cosines by rating group, compared with slow loops."""

import numpy as np
import pytest
from small_stsb import RandomVectors, write_stsb

from replicse.evaluation import density


def made_up_pairs(count, seed):
    scores = np.random.default_rng(seed).uniform(0, 5, count).round(1)
    return [(score, f"s{seed} {place}", f"t{seed} {place}") for place, score in enumerate(scores)]


def slow_cosine(u, v):
    return sum(map(float, u * v)) / (sum(map(float, u * u)) * sum(map(float, v * v))) ** 0.5


def test_groups_equal_a_slow_loop(tmp_path):
    splits = {split: made_up_pairs(60, seed) for seed, split in enumerate(("train", "dev", "test"))}
    vectors = RandomVectors(4)
    found = density.evaluate(write_stsb(tmp_path, splits), vectors, bins=20)
    by_group = {name: [] for name in density.RATINGS}
    for pairs in splits.values():
        for score, first, second in pairs:
            name = density.RATINGS[min(int(score), 4)]
            by_group[name].append(slow_cosine(vectors.known[first], vectors.known[second]))
    for name, similarities in by_group.items():
        group = found[name]
        assert group["n"] == len(similarities) > 10
        assert group["mean"] == pytest.approx(np.mean(similarities), abs=1e-6)
        ordered = sorted(similarities)
        assert ordered[0] <= group["q05"] <= group["q25"] <= group["q50"] <= group["q75"] <= group["q95"]
        assert group["q50"] == pytest.approx(np.median(similarities), abs=1e-6)
        for low, high, height in zip(found["edges"], found["edges"][1:], group["density"], strict=False):
            inside = sum(low <= similarity < high for similarity in similarities)
            assert height == pytest.approx(inside / len(similarities) / (high - low))
        assert np.dot(group["density"], np.diff(found["edges"])) == pytest.approx(1.0)


def test_empty_groups_are_failures(tmp_path):
    root = write_stsb(tmp_path, {"test": [(5.0, "a", "b"), (1.0, "c", "d")]})
    found = density.evaluate(root, RandomVectors(2, fixed={"c": [np.nan, 1]}), ("test",))
    assert found["failures"]["1-2/mean"] == "a sentence vector is not finite"
    assert found["0-1"] == {"n": 0, **dict.fromkeys(("mean", *density.QUANTILES, "density"))}
    assert found["failures"]["0-1/q50"] == "the dataset does not contain pairs with such a rating"
    for path in found["failures"]:
        assert not path.startswith("4-5")
