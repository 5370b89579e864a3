"""Vectors behind a fitted post-processing: what it is fitted on, and how often."""

import numpy as np
import pytest

from replicse.encoder.baselines.fitted import FittedVectors
from replicse.errors import BadInput
from replicse.evaluation import suites


class Base:
    """Seeded vectors that count how often they are asked for."""

    def __init__(self):
        self.prepared = []

    def prepare(self, sentences):
        self.prepared += sentences

    def __call__(self, sentences):
        rows = [np.random.default_rng(abs(hash(text)) % 2**32).normal(1.0, 2.0, 4) for text in sentences]
        return np.array(rows, dtype=np.float32)


LINES = [f"line {number}" for number in range(50)]


def covariance(vectors):
    return np.cov(vectors.T, bias=True)


def test_a_fixed_fit_whitens_the_sentences_it_was_fitted_on():
    vectors = FittedVectors(Base(), "whitening", LINES)
    assert np.allclose(covariance(vectors(LINES)), np.eye(4), atol=1e-3)
    other = [f"other {number}" for number in range(50)]
    assert not np.allclose(covariance(vectors(other)), np.eye(4), atol=1e-2)
    assert vectors.focused(other) is vectors


def test_a_target_fit_follows_each_task():
    vectors = FittedVectors(Base(), "whitening", None)
    for task in (LINES, [f"other {number}" for number in range(50)]):
        assert np.allclose(covariance(vectors.focused(task)(task)), np.eye(4), atol=1e-3)
    narrower = vectors.focused(LINES).focused(LINES[:20])
    assert np.allclose(covariance(narrower(LINES[:20])), np.eye(4), atol=1e-3)


def test_without_sentences_there_is_nothing_to_fit():
    with pytest.raises(BadInput, match="no sentences to fit on"):
        FittedVectors(Base(), "whitening", None)(LINES)
    with pytest.raises(BadInput, match='"whitning" is unknown; did you mean "whitening"'):
        FittedVectors(Base(), "whitning", LINES)


def test_preparing_encodes_the_sentences_of_the_fit_too():
    base = Base()
    FittedVectors(base, "whitening", LINES[:3]).prepare(["a", "b"])
    assert base.prepared == ["a", "b", *LINES[:3]]


def test_only_fitted_vectors_are_focused():
    base = Base()
    assert suites.focused(base, LINES) is base
    assert suites.focused(FittedVectors(base, "whitening", None), LINES).fit_on == LINES
