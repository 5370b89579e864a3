"""Fitted post-processing: on which data, and how often."""

import numpy as np
import pytest

from replicse.encoder.baselines.fitted import FittedVectors
from replicse.errors import BadInput
from replicse.evaluation import suites
from replicse.registry.encoders import postprocessing_of


class Base:
    """An encoder with random vectors that records the prepared sentences."""

    def __init__(self):
        self.prepared = []

    def prepare(self, sentences):
        self.prepared += sentences

    def __call__(self, sentences):
        rows = [np.random.default_rng(abs(hash(text)) % 2**32).normal(1.0, 2.0, 4) for text in sentences]
        return np.array(rows, dtype=np.float32)


WHITENING = postprocessing_of({"name": "whitening", "fit": "lines"})
ON_TARGET = postprocessing_of({"name": "whitening", "fit": "target"})
LINES = [f"line {number}" for number in range(50)]


def covariance(vectors):
    return np.cov(vectors.T, bias=True)


def test_a_fixed_fit_whitens_the_sentences_it_was_fitted_on():
    vectors = FittedVectors(Base(), WHITENING, LINES)
    assert np.allclose(covariance(vectors(LINES)), np.eye(4), atol=1e-3)
    other = [f"other {number}" for number in range(50)]
    assert not np.allclose(covariance(vectors(other)), np.eye(4), atol=1e-2)
    assert vectors.focused(other) is vectors


def test_a_target_fit_follows_each_task():
    vectors = FittedVectors(Base(), ON_TARGET)
    for task in (LINES, [f"other {number}" for number in range(50)]):
        assert np.allclose(covariance(vectors.focused(task)(task)), np.eye(4), atol=1e-3)
    narrower = vectors.focused(LINES).focused(LINES[:20])
    assert np.allclose(covariance(narrower(LINES[:20])), np.eye(4), atol=1e-3)


def test_parameters_reach_the_fit_and_unknown_ones_are_refused():
    short = postprocessing_of({"name": "flow", "fit": "lines", "epochs": 1})
    long = postprocessing_of({"name": "flow", "fit": "lines", "epochs": 9, "learning_rate": 0.01})
    assert np.array_equal(*(FittedVectors(Base(), short, LINES)(LINES) for _ in range(2)))
    assert not np.allclose(
        FittedVectors(Base(), short, LINES)(LINES), FittedVectors(Base(), long, LINES)(LINES)
    )
    for values, problem in (
        ({"name": "whitning", "fit": "target"}, 'is "whitning"; did you mean "whitening"'),
        ({"name": "whitening", "fit": "target", "epochs": 2}, 'unknown key "epochs"'),
        ({"name": "flow"}, 'lacks the key "fit"'),
    ):
        with pytest.raises(BadInput, match=problem):
            postprocessing_of(values)


def test_only_fitted_vectors_are_focused():
    base = Base()
    assert suites.focused(base, LINES) is base
    with pytest.raises(BadInput, match="the list of sentences to fit on is empty"):
        FittedVectors(base, ON_TARGET)(LINES)
    FittedVectors(base, WHITENING, LINES[:3]).prepare(["a", "b"])
    assert base.prepared == ["a", "b", *LINES[:3]]
    assert suites.focused(FittedVectors(base, ON_TARGET), LINES).fit_on == LINES
