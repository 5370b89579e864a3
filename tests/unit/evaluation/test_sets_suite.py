"""The user's datasets: correlations, probe and undefined scores."""

from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from small_stsb import RandomVectors

from replicse.cli.evaluate import parse_sets
from replicse.data.transfer import TransferSplit, TransferTask
from replicse.errors import BadInput
from replicse.evaluation import sets, sts, suites, transfer
from replicse.files import sha256_of
from replicse.registry.sets import EvaluationSet

# The cosine of the sentences "0.5" and "one" is 0.5.
ONE = "one"


def at(cosine):
    return (cosine, float(np.sqrt(1 - cosine**2)))


class Angles:
    """Vectors whose cosine with "one" is the number in the sentence."""

    def __call__(self, sentences):
        texts = np.array(sentences)
        return np.array(list(map(at, np.where(texts == ONE, "1", texts).astype(float))))

    def prepare(self, sentences):
        """Do nothing, because vectors are computed when they are needed."""


def written(file, rows):
    """Write a dataset of pairs whose first sentence is "one".

    Args:
        file: CSV file to write.
        rows: List of (cosine, score, subset).

    Returns:
        The description of the dataset as a dict.
    """
    pd.DataFrame(rows, columns=["b", "c", "d"]).assign(a=ONE).to_csv(file, index=False)
    return set_of(file, first="a", second="b", score="c", range=[0, 5], subset="d")


def set_of(file, **keys):
    return EvaluationSet.of({"file": str(file), **keys}, "sets")


def evaluated(vectors, **asked):
    return suites.run_suites(None, vectors, ["sets"], {"sets": {"sets": asked}})


drawn = st.tuples(st.integers(-9, 9), st.integers(0, 5), st.sampled_from("xyz"))


@settings(max_examples=30)
@given(st.lists(drawn, min_size=2, max_size=12).filter(lambda rows: len({row[1] for row in rows}) > 1))
def test_any_set_is_correlated_as_scipy_does(tmp_path_factory, rows):
    rows = [(cosine / 10, score, part) for cosine, score, part in rows]
    wanted = written(tmp_path_factory.mktemp("set") / "mine.csv", rows)
    outcome = evaluated(Angles(), mine=wanted)
    scores = outcome["suites"]["sets"]["mine"]
    assert scores["n"] == len(rows) and scores["sha256"] == sha256_of(Path(wanted.file))
    parts = {}
    for row in rows:
        parts.setdefault(row[2], []).append(row)
    cosines, gold = outcome["pairs"]["sets/mine/spearman"]
    wanted_cosines, wanted_gold, _ = zip(*chain(*parts.values()), strict=True)
    assert cosines == pytest.approx(wanted_cosines)
    assert gold.tolist() == list(wanted_gold)
    for kind, reference in (("spearman", spearmanr), ("pearson", pearsonr)):
        each = [correlated(reference, part) for part in parts.values()]
        expected = {"all": correlated(reference, rows), "mean": None, "wmean": None}
        if None not in each:
            sizes = list(map(len, parts.values()))
            expected |= {"mean": np.mean(each), "wmean": np.average(each, weights=sizes)}
        for key, value in expected.items():
            assert scores[kind][key] == (None if value is None else pytest.approx(value, abs=1e-6))
            assert (f"sets/mine/{kind}/{key}" in outcome["failures"]) == (value is None)


def correlated(reference, rows):
    cosines, scores, _ = zip(*rows, strict=True)
    if len(set(cosines)) == 1 or len(set(scores)) == 1:
        return None
    return 100 * reference(cosines, scores).statistic


def labelled(file, rows, split=None):
    """Write a dataset of labelled texts, by default without splits."""
    pd.DataFrame(rows, columns=["a", "b", "s"]).to_csv(file, index=False)
    return set_of(file, text="a", label="b", **({"split": "s"} if split else {}))


@pytest.mark.parametrize("splits", [None, ("train", "test"), ("train", "dev", "test")])
def test_labels_are_probed_as_those_of_a_transfer_task(tmp_path, splits):
    rows = [
        (f"sentence {i}", "ab"[i // 3 % 2], (splits or ["all"])[i % len(splits or "1")]) for i in range(66)
    ]
    wanted = labelled(tmp_path / "mine.csv", rows, splits)
    vectors = RandomVectors(4)
    scores = evaluated(vectors, mine=wanted)["suites"]["sets"]["mine"]
    parts = {}
    for part in splits or ["all"]:
        texts, labels, _ = zip(*(row for row in rows if row[2] == part), strict=True)
        parts[part] = TransferSplit(texts, None, np.array(list(map("ab".index, labels))))
    task = TransferTask("mine", parts)
    expected = transfer.run_task(task, vectors, transfer.SETTINGS["test"])
    assert (scores["accuracy"], scores["dev_accuracy"]) == expected and scores["n"] == 66


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("pairs.csv", "pairs-set"),
        ("My Data.CSV", "My-Data"),
        ("Übung.tsv", "Ubung"),
        ("測.csv", "set"),
        ("a.csv.gz", "a"),
    ],
)
def test_a_set_is_named_by_its_file(file, name):
    (made,) = parse_sets([[file, "first=a", "second=b", "score=c", "range=0,5"]]).items()
    assert (made[0], made[1].file) == (name, file)
    for text in ("0-5", "0,5,1"):
        with pytest.raises(BadInput, match=rf'range is "{text}"; write .* as range=0,5'):
            parse_sets([[file, f"range={text}"]])


def test_a_folder_that_datasets_saved_is_a_set(tmp_path):
    import datasets

    keys = ["first=a", "second=b", "score=c", "range=0,5"]
    saved = datasets.Dataset.from_dict({"a": [ONE] * 3, "b": ["0.1", "0.5", "0.2"], "c": [1, 5, 2.5]})
    datasets.DatasetDict({"dev": saved, "test": saved}).save_to_disk(tmp_path / "mine")
    with pytest.raises(BadInput, match=r"mine: contains several splits; use one of .*mine/dev, .*mine/test$"):
        parse_sets([[str(tmp_path / "mine"), *keys]])
    wanted = parse_sets([[str(tmp_path / "mine" / "test"), *keys]])
    scores = evaluated(Angles(), **wanted)["suites"]["sets"]["test"]
    assert (scores["n"], scores["spearman"]["all"]) == (3, 100) and len(scores["sha256"]) == 64
    saved.save_to_disk(tmp_path / "parts", num_shards=2)
    for folder, problem in (
        ("parts", "in 2 files; save it with num_shards=1"),
        ("", "not a saved dataset"),
    ):
        with pytest.raises(BadInput, match=problem):
            parse_sets([[str(tmp_path / folder), *keys]])


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


def test_alignment_and_uniformity_of_pairs_above_a_score(tmp_path):
    """Compares with a slow loop over all pairs of sentences."""
    rows = [(0.9, 5, "x"), (-0.3, 4.5, "y"), (0.2, 4, "x"), (-0.8, 1, "y")]
    rated = written(tmp_path / "mine.csv", rows)
    words = ["first=a", "second=b", "score=c", "range=0,5", "subset=d", "positive_above=4"]
    (wanted,) = parse_sets([[str(tmp_path / "mine.csv"), *words]]).values()
    scores = evaluated(Angles(), mine=wanted)["suites"]["sets"]["mine"]
    assert scores["n_positive"] == 2
    assert scores["alignment"] == pytest.approx(((2 - 2 * 0.9) + (2 + 2 * 0.3)) / 2)
    every = [at(1.0)] * 4 + [at(cosine) for cosine, *_ in rows]
    kernels = []
    for i, x in enumerate(every):
        for y in every[:i]:
            kernels.append(np.exp(-2 * ((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2)))
    assert scores["uniformity"] == pytest.approx(np.log(np.mean(kernels)))
    assert "alignment" not in evaluated(Angles(), mine=rated)["suites"]["sets"]["mine"]
    none = evaluated(Angles(), mine=set_of(**{**wanted.plain(), "positive_above": 4.99}))
    assert none["suites"]["sets"]["mine"]["n_positive"] == 1
    with pytest.raises(
        BadInput, match=r"positive_above is 5\.0; it should be in the range, below the highest score"
    ):
        parse_sets([[str(tmp_path / "mine.csv"), *words[:-1], "positive_above=5"]])
    with pytest.raises(BadInput, match=r'positive_above is "four"; write a number, such as positive_above=4'):
        parse_sets([[str(tmp_path / "mine.csv"), *words[:-1], "positive_above=four"]])


def test_pairs_are_encoded_in_blocks(tmp_path, monkeypatch):
    rows = [(i / 10 - 0.9, i % 5, "xyz"[i % 3]) for i in range(18)]
    wanted = written(tmp_path / "mine.csv", rows)
    whole = evaluated(Angles(), mine=wanted)["suites"]
    sizes = []

    class Counted(Angles):
        def __call__(self, sentences):
            sizes.append(len(sentences))
            return super().__call__(sentences)

    monkeypatch.setattr(sts, "AT_ONCE", 4)
    assert evaluated(Counted(), mine=wanted)["suites"] == whole and max(sizes) == 4


def test_post_processing_is_fitted_on_each_set_by_itself(tmp_path):
    """Post-processing is fitted on each dataset separately.

    If whitening were fitted on all datasets at once, a score would depend on the other datasets.
    """
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
