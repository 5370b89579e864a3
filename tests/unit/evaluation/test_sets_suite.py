"""Evaluation sets of one's own: correlations in closed form, the probe of the transfer tasks, what is undefined."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from small_stsb import RandomVectors

from replicse.data.transfer import TransferSplit, TransferTask
from replicse.evaluation import sets, suites, transfer
from replicse.registry.sets import EvaluationSet

# Two vectors at an angle have its cosine: sentence "0.5" lies so that its cosine to "one" is 0.5.
ONE = "one"


def at(cosine):
    return (cosine, float(np.sqrt(1 - cosine**2)))


class Angles:
    """The unit vector whose cosine to that of "one" a sentence names."""

    def __call__(self, sentences):
        return np.array([at(1.0 if text == ONE else float(text)) for text in sentences], dtype=np.float64)

    def prepare(self, sentences):
        """Do nothing."""


def written(file, rows):
    """Write pairs of "one" and a cosine, with their scores and subsets; return the set."""
    file.write_text(
        "".join(["a,b,c,d\n", *(f"{ONE},{cosine},{score},{part}\n" for cosine, score, part in rows)])
    )
    keys = {"first": "a", "second": "b", "score": "c", "range": [0, 5], "subset": "d"}
    return EvaluationSet.of({"file": file.name, **keys}, "sets").replace(file=str(file))


def evaluated(vectors, **asked):
    return suites.run_suites(None, vectors, ["sets"], {"sets": {"sets": asked}})


def test_the_closed_forms_of_both_correlations_and_the_three_aggregations(tmp_path):
    # x is ordered as its scores are, but for its line through (0.1, 0), (0.2, 1), (0.3, 5); y is a falling line.
    x, y = [(0.1, 0, "x"), (0.2, 1, "x"), (0.3, 5, "x")], [(0.4, 3, "y"), (0.5, 2, "y")]
    outcome = evaluated(Angles(), mine=written(tmp_path / "mine.csv", [*x, *y]))
    scores = outcome["suites"]["sets"]["mine"]
    # Deviations of x: (-1, 0, 1) and (-2, -1, 3): r = 5 / sqrt(2 * 14).
    r = 5 / np.sqrt(28)
    assert scores["spearman"]["mean"] == pytest.approx(100 * (1 - 1) / 2, abs=1e-9)
    assert scores["spearman"]["wmean"] == pytest.approx(100 * (3 * 1 - 2 * 1) / 5)
    assert scores["pearson"]["mean"] == pytest.approx(100 * (r - 1) / 2)
    assert scores["pearson"]["wmean"] == pytest.approx(100 * (3 * r - 2) / 5)
    # Together: ranks 1 to 5 against those of 0, 1, 5, 3, 2; squared differences 0 + 0 + 4 + 0 + 4.
    assert scores["spearman"]["all"] == pytest.approx(100 * (1 - 6 * 8 / (5 * 24)))
    # Deviations of all: (-2, -1, 0, 1, 2) and (-2.2, -1.2, 2.8, 0.8, -0.2), the latter of squares 14.8.
    assert scores["pearson"]["all"] == pytest.approx(100 * 6 / np.sqrt(10 * 14.8))
    assert scores["n"] == 5 and outcome["failures"] == {}
    assert scores["sha256"] == hashlib.sha256((tmp_path / "mine.csv").read_bytes()).hexdigest()
    cosines, gold = outcome["pairs"]["sets/mine/spearman"]
    assert cosines == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5]) and gold.tolist() == [0, 1, 5, 3, 2]


drawn = st.tuples(st.integers(-9, 9), st.integers(0, 5), st.sampled_from("xyz"))


@settings(max_examples=30)
@given(st.lists(drawn, min_size=2, max_size=12).filter(lambda rows: len({row[1] for row in rows}) > 1))
def test_any_set_is_correlated_as_scipy_does(tmp_path_factory, rows):
    rows = [(cosine / 10, score, part) for cosine, score, part in rows]
    wanted = written(tmp_path_factory.mktemp("set") / "mine.csv", rows)
    outcome = evaluated(Angles(), mine=wanted)
    parts = {name: [row for row in rows if row[2] == name] for name in dict.fromkeys(row[2] for row in rows)}
    for kind, reference in (("spearman", spearmanr), ("pearson", pearsonr)):
        scores = outcome["suites"]["sets"]["mine"][kind]
        each = [correlated(reference, part) for part in parts.values()]
        expected = {"all": correlated(reference, rows), "mean": None, "wmean": None}
        if None not in each:
            sizes = [len(part) for part in parts.values()]
            expected |= {"mean": np.mean(each), "wmean": np.average(each, weights=sizes)}
        for key, value in expected.items():
            assert scores[key] == (None if value is None else pytest.approx(value, abs=1e-6))
            assert (f"sets/mine/{kind}/{key}" in outcome["failures"]) == (value is None)


def correlated(reference, rows):
    cosines, scores, _ = zip(*rows, strict=True)
    if len(set(cosines)) == 1 or len(set(scores)) == 1:
        return None
    return 100 * reference(cosines, scores).statistic


def labelled(file, rows, split=None):
    file.write_text("".join(["a,b,s\n", *(f"{text},{label},{part}\n" for text, label, part in rows)]))
    keys = {"text": "a", "label": "b", **({"split": "s"} if split else {})}
    return EvaluationSet.of({"file": file.name, **keys}, "sets").replace(file=str(file))


@pytest.mark.parametrize("splits", [None, ("train", "test"), ("train", "dev", "test")])
def test_labels_are_probed_as_those_of_a_transfer_task(tmp_path, splits):
    rows = [
        (f"sentence {i}", "ab"[i // 3 % 2], (splits or ["all"])[i % len(splits or "1")]) for i in range(66)
    ]
    wanted = labelled(tmp_path / "mine.csv", rows, splits)
    vectors = RandomVectors(4)
    scores = evaluated(vectors, mine=wanted)["suites"]["sets"]["mine"]
    parts = {part: [row for row in rows if row[2] == part] for part in (splits or ["all"])}
    task = TransferTask("mine", {
        part: TransferSplit(tuple(text for text, *_ in each), None, np.array(["ab".index(row[1]) for row in each]))
        for part, each in parts.items()
    })  # fmt: skip
    expected = transfer.run_task(task, vectors, transfer.SETTINGS["test"])
    assert (scores["accuracy"], scores["dev_accuracy"]) == expected and scores["n"] == 66


def test_what_is_undefined_is_none_with_its_reason(tmp_path):
    pairs = written(tmp_path / "pairs.csv", [(0.1, 0, "x"), (0.1, 5, "x")])
    labels = labelled(tmp_path / "labels.csv", [(f"{i / 100}", i % 2, "all") for i in range(20)])

    class Broken(Angles):
        def __call__(self, sentences):
            return super().__call__(sentences) * (np.nan if "0.19" in sentences else 1)

    outcome = evaluated(Broken(), rated=pairs, labels=labels)
    scores = outcome["suites"]["sets"]
    assert scores["rated"]["spearman"]["all"] is scores["labels"]["accuracy"] is None
    assert outcome["failures"]["sets/rated/pearson/mean"] == "x: all cosines are equal"
    assert outcome["failures"]["sets/labels/accuracy"] == "a sentence vector is not finite"


def test_post_processing_is_fitted_on_each_set_by_itself(tmp_path):
    """Whitening on the target once would have made a number depend on which other sets a table has."""
    asked = []

    class Focused(Angles):
        def focused(self, sentences):
            asked.append(sorted(set(sentences)))
            return self

    first = written(tmp_path / "a.csv", [(0.1, 0, "x"), (0.2, 5, "x")])
    labels = labelled(tmp_path / "b.csv", [(f"{0.3 + i / 100}", i % 2, "all") for i in range(20)])
    evaluated(Focused(), first=first, labels=labels)
    assert asked[-2:] == [["0.1", "0.2", ONE], sorted(f"{0.3 + i / 100}" for i in range(20))]
    every = [*sets.sentences(None, {"first": first, "labels": labels})]
    assert set(every) == {*asked[-2], *asked[-1]}
