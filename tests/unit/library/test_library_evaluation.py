"""`replicse.evaluate`: encoders of any kind give the same numbers, and a mistake is one sentence."""

import sys

import numpy as np
import pytest
from micro import dev_root
from snakemake_runs import ran

import replicse
from replicse.data.sts import load_sts
from replicse.evaluation.correlation import spearman

OPTIONS = {"sts-dev": {"tasks": ["STS-B"]}}


def letters(texts):
    """Return how often each of some letters occurs in each text."""
    return np.array([[text.count(letter) + 0.1 * len(text) for letter in "aeiourst"] for text in texts])


class Counting:
    """An encoder with `encode` that notes the sentences it saw."""

    def encode(self, texts):
        self.seen = [*getattr(self, "seen", []), *texts]
        return letters(texts)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return dev_root(tmp_path_factory.mktemp("root") / "data")


def test_a_function_and_an_object_give_the_numbers_of_a_slow_loop(data):
    (subset,) = load_sts(data, "STS-B", "dev")
    cosines = []
    for one, other in zip(subset.first, subset.second, strict=True):
        x, y = letters([one])[0], letters([other])[0]
        cosines.append(float(x @ y / np.sqrt((x @ x) * (y @ y))))
    expected = 100 * spearman(np.array(cosines), np.array(subset.gold))
    encoder = Counting()
    for each in (letters, encoder):
        outcome = replicse.evaluate(each, "sts-dev", data, options=OPTIONS)
        assert outcome["suites"]["sts-dev"]["STS-B"]["all"] == pytest.approx(expected, abs=1e-3)
        assert outcome["failures"] == {}
    assert sorted(encoder.seen) == sorted({*subset.first, *subset.second})


@pytest.mark.parametrize(
    ("encoder", "words", "message"),
    [
        (lambda texts: np.zeros(len(texts)), {}, r"array of shape \(\d+,\) of float64"),
        (lambda texts: np.zeros((1, 4)), {}, "became an array of shape"),
        (lambda texts: [["a", "b"] for _ in texts], {}, "expected numbers"),
        (letters, {"suites": "stss"}, 'suite "stss" is unknown'),
        (letters, {"pooling": "mean"}, "an open encoder has its own"),
        (3, {}, "int is no folder, hub id, encoder or function"),
        ("no/such/folder", {}, "no such folder"),
    ],
)
def test_an_encoder_that_gives_no_vectors_is_refused(data, encoder, words, message):
    with pytest.raises(replicse.BadInput, match=message):
        replicse.evaluate(encoder, **{"suites": "sts-dev", "data": data, "options": OPTIONS, **words})


def test_every_public_name_is_there_and_none_costs_torch_before_it_is_used():
    code = (
        "import sys, replicse; replicse.verdict([75.1, 74.2, 76.0], '76.25'); print('torch' in sys.modules)"
    )
    assert ran(sys.executable, "-c", code).stdout == "False\n"
    assert all(getattr(replicse, name).__doc__ for name in replicse.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = replicse.nothing
