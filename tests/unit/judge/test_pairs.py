"""Cosines of test pairs as text."""

import numpy as np
import pytest

from replicse.judge.pairs import packed_pairs, unpacked

GENERATOR = np.random.default_rng(3)
GOLD = np.round(GENERATOR.uniform(0, 5, 200), 1)


def noisy(spread, seed):
    return GOLD + np.random.default_rng(seed).normal(0, spread, len(GOLD))


def test_pairs_survive_packing():
    packed = packed_pairs(noisy(1, 0), GOLD)
    assert unpacked(packed["cosine"]) == pytest.approx(noisy(1, 0), abs=1e-6)
    assert unpacked(packed["gold"]) == pytest.approx(GOLD, abs=1e-6)
