"""Transfer tasks: batched training against single training, and protocols."""

from pathlib import Path

import numpy as np
import plain_transfer as plain
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stsb import RandomVectors

from replicse.data.transfer import TransferSplit, TransferTask
from replicse.evaluation import linear_probe, transfer
from replicse.evaluation.linear_probe import Fit, ProbeSetting, train_together, with_bias
from replicse.registry.suites import TRANSFER_TASKS

SMALL = {
    "adam": ProbeSetting(
        folds=3, optimiser="adam", learning_rate=0.1, batch_size=8, tenacity=2, epoch_size=2
    ),
    "rmsprop": ProbeSetting(
        folds=3, optimiser="rmsprop", learning_rate=0.02, batch_size=16, tenacity=1, epoch_size=1
    ),
}


def problem(rows, dimensions, classes, seed=0):
    """Return overlapping clusters of vectors in float64, and their labels.

    In float64, rounding does not affect comparisons.

    Args:
        rows: Number of rows.
        dimensions: Size of the vectors.
        classes: Number of classes.
        seed: Seed of the random generator. Default: 0.
    """
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    centres = generator.normal(size=(classes, dimensions))
    return generator.normal(size=(rows, dimensions)) + 0.7 * centres[labels], labels


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_folds_part_the_rows_and_every_class_evenly(labels, folds, seed):
    labels = np.array(labels)
    found = transfer.stratified_folds(labels, folds, (seed,))
    assert sorted(np.concatenate(found)) == list(range(len(labels)))
    assert np.ptp(list(map(len, found))) <= 1
    for label in set(labels):
        assert np.ptp([(labels[fold] == label).sum() for fold in found]) <= 1


@pytest.mark.parametrize("name", SMALL)
def test_each_protocol_equals_one_by_one(name):
    setting = SMALL[name]
    vectors, labels = problem(36, 5, 2)
    found = transfer.nested_folds(with_bias([vectors]), labels, setting)
    assert found == pytest.approx(plain.plain_nested_folds(vectors, labels, setting), abs=1e-12)
    vectors, labels = problem(110, 5, 4)
    train, test = np.arange(80), np.arange(80, 110)
    found = transfer.folds_then_test(with_bias([vectors]), labels, train, test, setting)
    expected = plain.plain_folds_then_test(vectors, labels, train, test, setting)
    assert found == pytest.approx(expected, abs=1e-12)
    splits = np.split(np.arange(110), [60, 90])
    found = transfer.given_splits(with_bias([vectors]), labels, *splits, setting)
    assert found == pytest.approx(plain.plain_given_splits(vectors, labels, *splits, setting), abs=1e-12)


@pytest.mark.parametrize("bundle_bytes", [1, linear_probe.BUNDLE_BYTES])
@pytest.mark.parametrize("name", SMALL)
def test_fits_of_different_size_are_those_trained_alone(name, bundle_bytes, monkeypatch):
    """Fits of different size in a batch should equal separate training.

    The fits differ in number of steps, size of the last minibatch, rows and L2 values.
    """
    monkeypatch.setattr(linear_probe, "BUNDLE_BYTES", bundle_bytes)
    vectors, labels = problem(80, 4, 3)
    order = np.random.default_rng(5).permutation(80)
    strengths = {8: (0.5,), 16: (1e-3, 0.5, 1), 17: (0.1, 0.2), 23: (1e-3, 2.0), 24: (1, 1e-5)}
    fits = [Fit(order[:size], order[60:], l2, (9, size)) for size, l2 in strengths.items()]
    found = train_together(with_bias([vectors]), labels, fits, SMALL[name])
    for fit, per_fit in zip(fits, found, strict=True):
        assert len(per_fit) == len(fit.l2)
        for l2, trained in zip(fit.l2, per_fit, strict=True):
            accuracy, model = plain.plain_train(vectors, labels, fit, l2, SMALL[name])
            assert trained.accuracy == pytest.approx(accuracy, abs=1e-12)
            weights = torch.cat([model.weight, model.bias[:, None]], dim=1).detach()
            torch.testing.assert_close(trained.weights, weights, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("scores", "setting", "count", "best"),
    [
        # All misses are counted, even if they are not consecutive.
        ([0.5, 0.4, 0.6, 0.6, 0.7, 0.1, 0.9], SMALL["adam"], 6, 0.7),
        # The last round begins after 200 passes.
        (np.linspace(0, 1, 1000), transfer.SETTINGS["test"], 51, np.linspace(0, 1, 1000)[50]),
    ],
)
def test_training_ends_after_so_many_checks(monkeypatch, scores, setting, count, best):
    checks = []

    def next_score(features, labels, rows, weights):
        checks.append(rows)
        return [scores[len(checks) - 1]] * len(weights)

    monkeypatch.setattr(linear_probe, "correct_shares", next_score)
    vectors, labels = problem(20, 3, 2)
    fit = Fit(np.arange(15), np.arange(15, 20), (1e-3,), (0,))
    trained = train_together(with_bias([vectors]), labels, [fit], setting)[0][0]
    assert (len(checks), trained.accuracy) == (count, best)


def made_up_task(name, rows=40):
    """Return a task in the right format, easy for the vectors of `made_up`.

    The first dimension of the vectors separates the classes.

    Args:
        name: Name of the task, such as "MRPC".
        rows: Number of rows in a split. Default: 40.
    """
    labels = np.arange(rows) % 2

    def split(part, count):
        texts = tuple(f"{part} {number} {label}" for number, label in enumerate(labels[:count]))
        second = tuple(f"{text}b" for text in texts) if name == "MRPC" else None
        return TransferSplit(texts, second, labels[:count])

    parts = {"SST2": ("train", "dev", "test"), "TREC": ("train", "test"), "MRPC": ("train", "test")}
    return TransferTask(name, {part: split(part, rows) for part in parts.get(name, ("all",))})


@pytest.fixture
def made_up(monkeypatch):
    """Use small versions of all seven tasks; return vectors with the label."""
    monkeypatch.setattr(transfer, "load_transfer", lambda root, name: made_up_task(name))
    monkeypatch.setitem(transfer.SETTINGS, "fast", SMALL["adam"])
    tasks = list(map(made_up_task, TRANSFER_TASKS))
    known = {}
    for task in tasks:
        for split in task.splits.values():
            for text, label in zip(split.first, split.labels, strict=True):
                known[text] = [10 * (2 * label - 1), 1.0]
                known[f"{text}b"] = [10.0, 1.0]
    return RandomVectors(2, fixed=known)


def test_evaluate_reports_seven_tasks_and_their_means(made_up):
    found = transfer.evaluate(Path(), made_up, setting="fast")
    scores = [found[name] for name in TRANSFER_TASKS]
    for score in scores:
        assert score == {"accuracy": 100.0, "dev_accuracy": 100.0}
    assert found["avg"] == found["dev_avg"] == 100.0
    assert set(made_up.asked) == set(transfer.sentences(Path(), setting="fast"))


def test_pairs_are_the_difference_and_the_product(monkeypatch):
    vectors = RandomVectors(3)
    seen = {}
    monkeypatch.setattr(
        transfer, "folds_then_test", lambda features, *rest: seen.update(features=features) or (0.0, 0.0)
    )
    task = made_up_task("MRPC")
    transfer.run_task(task, vectors, SMALL["adam"])
    text = task.splits["test"].first[7]
    u, v = vectors.known[text], vectors.known[f"{text}b"]
    assert seen["features"][40 + 7].tolist() == [*np.abs(u - v), *(u * v), 1.0]
