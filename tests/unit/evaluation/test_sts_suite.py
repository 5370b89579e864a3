from itertools import chain, product

import numpy as np
import pytest
from scipy.stats import spearmanr
from small_stsb import RandomVectors

from replicse.data.sts import STS_TASKS, StsSubset
from replicse.errors import BadInput
from replicse.evaluation import sts, suites


def made_up_subset(name, count, seed):
    generator = np.random.default_rng(seed)
    first = tuple(f"{name} {number}" for number in range(count))
    second = tuple(f"{name} {number % 7} again" for number in range(count))
    return StsSubset(name, first, second, np.round(generator.uniform(0, 5, count), 1))


def made_up_task(task, split):
    number, parts = STS_TASKS.index(task), 3 if task.startswith("STS1") else 1
    return tuple(
        made_up_subset(f"{task} {split} part {part}", 20 + 15 * part, 10 * number + part)
        for part in range(parts)
    )


SPLITS = ("train", "dev", "test")
DATA = {(task, split): made_up_task(task, split) for task, split in product(STS_TASKS, SPLITS)}


@pytest.fixture(autouse=True)
def stand_in(request, monkeypatch):
    if "real_data" not in request.fixturenames:
        monkeypatch.setattr(sts, "load_sts", lambda root, task, split: DATA[task, split])


def reference(subsets, vectors):
    """Compute the three aggregations with scipy, pair by pair.

    Args:
        subsets: List of subsets with sentences and gold scores.
        vectors: Function from a list of sentences to vectors.

    Returns:
        Dict from the name of an aggregation to the score.
    """
    predicted, gold = [], []
    for subset in subsets:
        left, right = vectors(subset.first).astype(float), vectors(subset.second).astype(float)
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        predicted.append((left * right).sum(axis=1) / norms)
        gold.append(subset.gold)
    each = [spearmanr(x, y).statistic for x, y in zip(predicted, gold, strict=True)]
    sizes = list(map(len, gold))
    return {
        "all": 100 * spearmanr(np.concatenate(predicted), np.concatenate(gold)).statistic,
        "mean": 100 * sum(each) / len(each),
        "wmean": 100 * np.average(each, weights=sizes),
        "n": sum(sizes),
    }


def scores(found):
    """Return only the scores that `reference` also computes."""
    return {key: value for key, value in found.items() if key not in ("low", "high")}


def test_the_test_suite_has_seven_tasks_in_three_aggregations_and_their_average(tmp_path):
    vectors = RandomVectors(8)
    found = sts.evaluate(tmp_path, vectors)
    assert list(found) == [*STS_TASKS, "avg", "avg-mean", "avg-wmean", "failures", "pairs"]
    for task in STS_TASKS:
        assert scores(found[task]) == pytest.approx(reference(DATA[task, "test"], vectors))
    for name, key in (("avg", "all"), ("avg-mean", "mean"), ("avg-wmean", "wmean")):
        # The official code averages rounded scores (methods 2.2), so the result differs from the mean of
        # unrounded scores.
        each = np.array([found[task][key] for task in STS_TASKS])
        unrounded = each.mean()
        assert found[name] == pytest.approx(np.mean(each.round(2)))
        assert found[name] != pytest.approx(unrounded) and abs(found[name] - unrounded) <= 0.005
    assert found["STS12"]["all"] != pytest.approx(found["STS12"]["mean"])
    assert found["STS12"]["mean"] != pytest.approx(found["STS12"]["wmean"])


def test_the_pairs_are_kept_in_order_and_bound_the_correlation(tmp_path):
    found = sts.evaluate(tmp_path, RandomVectors(8))
    for task in STS_TASKS:
        predicted, gold = found["pairs"][task]
        assert 100 * spearmanr(predicted, gold).statistic == pytest.approx(found[task]["all"])
        assert np.array_equal(gold, np.concatenate([subset.gold for subset in DATA[task, "test"]]))
        assert found[task]["low"] < found[task]["all"] < found[task]["high"]
    wide, narrow = found["STS-B"], found["STS12"]
    assert wide["n"] < narrow["n"] and wide["high"] - wide["low"] > narrow["high"] - narrow["low"]


def test_one_constant_subset_leaves_all_defined_and_one_that_is_not_finite_does_not(tmp_path):
    parts = DATA["STS14", "test"][1], DATA["STS15", "test"][2]
    given = zip(parts, (np.ones(8), np.full(8, np.nan)), strict=True)
    fixed = {text: vector for part, vector in given for text in part.sentences}
    found = sts.evaluate(tmp_path, RandomVectors(8, fixed=fixed), tasks=["STS14", "STS15"])
    assert found["STS14"]["all"] is not None and found["avg"] is None
    assert found["STS14"]["mean"] is None and found["STS14"]["wmean"] is None
    assert found["failures"]["STS14/mean"] == "STS14 test part 1: all cosines are equal"
    assert found["STS15"]["all"] is None
    assert found["failures"]["STS15/all"] == "STS15 test part 2: a sentence vector is not finite"


def test_unknown_tasks_and_tasks_without_the_split_are_refused(monkeypatch, tmp_path):
    monkeypatch.undo()
    for suite, task, problem in (
        ("sts", "STS17", 'suite sts: tasks.0. is "STS17"; did you mean "STS1'),
        ("sts-dev", "STS12", 'STS12 does not have a split "dev"'),
    ):
        with pytest.raises(BadInput, match=problem):
            suites.run_suites(tmp_path, RandomVectors(8), [suite], {suite: {"tasks": [task]}})


def sentences_of(subsets):
    return set(chain.from_iterable(subset.sentences for subset in subsets))


def test_post_processing_is_fitted_on_all_splits_of_each_task_by_itself(tmp_path):
    asked = []

    class Focused(RandomVectors):
        def focused(self, sentences):
            asked.append(set(sentences))
            return self

    sts.evaluate(tmp_path, Focused(8), tasks=["STS13", "STS-B"])
    every = chain.from_iterable(DATA["STS-B", split] for split in SPLITS)
    assert asked == [sentences_of(DATA["STS13", "test"]), sentences_of(every)]
