"""Suites by name: options, failures by metric path, one pass over all sentences."""

import numpy as np
import pytest

from replicse.errors import BadInput
from replicse.evaluation import suites


class One:
    """A suite that asks for two sentences and takes an option."""

    @staticmethod
    def sentences(root):
        return ["a", "b"]

    @staticmethod
    def evaluate(root, vectors, scale=1, fails=False):
        value = float(vectors(["a"])[0, 0]) * scale
        return {"value": None if fails else value} | ({"failures": {"value": "broken"}} if fails else {})


class Vectors:
    def __init__(self):
        self.passes = []

    def prepare(self, sentences):
        self.passes.append(list(sentences))

    def __call__(self, sentences):
        return np.full((len(sentences), 2), 3.0, dtype=np.float32)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    known = {"one": {"scale": 2}, "two": {"fails": True}}
    monkeypatch.setattr(suites, "SUITES", known)
    monkeypatch.setattr(suites, "suite", lambda name: (One, known[name]))


def test_options_are_laid_over_the_fixed_ones_and_failures_get_their_path():
    found = suites.run_suites(None, Vectors(), ["one", "two"], {"one": {"scale": 5}})
    assert found == {
        "suites": {"one": {"value": 15.0}, "two": {"value": None}},
        "failures": {"two/value": "broken"},
        "pairs": {},
    }


def test_every_sentence_is_prepared_once_over_all_suites():
    vectors = Vectors()
    suites.run_suites(None, vectors, ["one", "two"])
    assert vectors.passes == [["a", "b"]]


def test_an_unknown_suite_is_named_with_the_nearest(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(BadInput, match='suite "stss" is unknown; did you mean "sts"'):
        suites.suite("stss")
