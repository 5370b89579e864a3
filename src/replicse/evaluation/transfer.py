"""Transfer tasks: a linear classifier on frozen vectors, like SentEval.

MR, CR, SUBJ and MPQA use nested stratified cross-validation, TREC and MRPC cross-validation on the training
set, and SST2 its own splits. In all of them the L2 penalty is selected on held-out rows. A task needs hundreds
of small classifiers, which `linear_probe` trains together.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from replicse.data.transfer import TransferSplit, TransferTask, load_transfer
from replicse.errors import BadInput
from replicse.evaluation.linear_probe import (
    Fit,
    ProbeSetting,
    Trained,
    correct_shares,
    train_together,
    with_bias,
)
from replicse.evaluation.suites import Vectors, average
from replicse.registry.suites import TRANSFER_TASKS

SEED = 1111
L2_GRID = (1e-5, 1e-4, 1e-3, 1e-2)
HELD_OUT = 0.05
METRICS = ("accuracy", "dev_accuracy")

SETTINGS = {
    "test": ProbeSetting(
        folds=10, optimiser="adam", learning_rate=1e-3, batch_size=64, tenacity=5, epoch_size=4
    ),
    "fast": ProbeSetting(
        folds=5, optimiser="rmsprop", learning_rate=1e-2, batch_size=128, tenacity=3, epoch_size=2
    ),
}


def sentences(root: Path, setting: str = "test", tasks: Sequence[str] | None = None) -> Iterator[str]:
    """Yield every sentence that `evaluate` encodes with these options.

    Args:
        root: The data root, a folder of datasets.
        setting: Not used.
        tasks: A list of tasks. Default: all seven.
    """
    for name in tasks or TRANSFER_TASKS:
        for split in load_transfer(root, name).splits.values():
            yield from split.first
            yield from split.second or ()


def evaluate(
    root: Path, vectors: Vectors, setting: str = "test", tasks: Sequence[str] | None = None
) -> dict[str, Any]:
    """Compute `accuracy` and `dev_accuracy` (x 100) of each transfer task.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        setting: `test` (SimCSE Table E.1) or `fast`, SentEval's prototyping settings. SimCSE Table D.2 and
            DiffCSE's ablations report the `dev_accuracy` of `fast`. Default: `test`.
        tasks: A list of tasks. Default: all seven.

    Returns:
        A dict with the scores by task, and their averages `avg` and `dev_avg`. If vectors are not finite, a
        score is None and `failures` has the reason; an average is None if one of the seven scores is missing.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name in tasks or TRANSFER_TASKS:
        values = run_task(load_transfer(root, name), vectors, SETTINGS[setting])
        scores[name] = dict(zip(METRICS, values or (None, None), strict=True))
        if values is None:
            failures |= {f"{name}/{metric}": "a sentence vector is not finite" for metric in METRICS}
    for mean, metric in (("avg", "accuracy"), ("dev_avg", "dev_accuracy")):
        scores[mean] = average([scores.get(name, {}).get(metric) for name in TRANSFER_TASKS])
    return {**scores, "failures": failures} if failures else scores


def run_task(task: TransferTask, vectors: Vectors, setting: ProbeSetting) -> tuple[float, float] | None:
    """Train and test the classifiers of a task.

    The protocol depends on the splits of the task.

    Args:
        task: The task.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        setting: The hyper-parameters.

    Returns:
        Test and dev accuracy (x 100), or None if vectors are not finite.

    Raises:
        BadInput: If there are too few sentences for the folds.
    """
    features = with_bias([_features(split, vectors) for split in task.splits.values()])
    if not torch.isfinite(features).all():
        return None
    labels = np.concatenate([split.labels for split in task.splits.values()])
    ends = np.cumsum([len(split.labels) for split in task.splits.values()])
    rows = dict(zip(task.splits, np.split(np.arange(len(labels)), ends[:-1]), strict=True))
    learn = rows["all"] if "all" in rows else rows["train"]
    if "dev" not in rows and len(learn) < 2 * setting.folds:
        problem = f"{len(learn)} labelled sentences are too few for {setting.folds} folds"
        raise BadInput(f"{task.name}: {problem}; add rows, at least {2 * setting.folds} are needed")
    if "dev" in rows:
        scores = given_splits(features, labels, rows["train"], rows["dev"], rows["test"], setting)
    elif "all" in rows:
        scores = nested_folds(features, labels, setting)
    else:
        scores = folds_then_test(features, labels, rows["train"], rows["test"], setting)
    return 100 * scores[0], 100 * scores[1]


def _features(split: TransferSplit, vectors: Vectors) -> np.ndarray:
    """Return sentence vectors, or [|u - v|; u * v] for sentence pairs."""
    first = vectors(split.first)
    if split.second is None:
        return first
    second = vectors(split.second)
    return np.concatenate([np.abs(first - second), first * second], axis=1)


def nested_folds(features: torch.Tensor, labels: np.ndarray, setting: ProbeSetting) -> tuple[float, float]:
    """Compute test and dev accuracy by nested cross-validation.

    Inner folds select the L2 value of each outer fold. The dev accuracy is the mean over outer folds of the
    best inner mean. MR, CR, SUBJ and MPQA use this protocol.

    Args:
        features: Tensor of shape (rows, features) with a bias column.
        labels: Int64 array of shape (rows,).
        setting: The hyper-parameters.

    Returns:
        Test and dev accuracy, in [0, 1].
    """
    outer = stratified_folds(labels, setting.folds, (SEED,))
    learn = [np.delete(np.arange(len(labels)), test) for test in outer]
    inner: list[Fit] = []
    for number, rows in enumerate(learn):
        inner += _grid(labels, rows, setting, (SEED, number))
    scores = _accuracies(train_together(features, labels, inner, setting))
    means = scores.reshape(len(outer), -1, len(L2_GRID)).mean(axis=1)
    refits = []
    for number, rows in enumerate(learn):
        refits.append(_refit(rows, _best(means[number]), (SEED, number, setting.folds)))
    finals = train_together(features, labels, refits, setting)
    tests = [_score(features, labels, test, final[0]) for test, final in zip(outer, finals, strict=True)]
    return float(np.mean(tests)), float(means.max(axis=1).mean())


def folds_then_test(
    features: torch.Tensor, labels: np.ndarray, train: np.ndarray, test: np.ndarray, setting: ProbeSetting
) -> tuple[float, float]:
    """Compute test and dev accuracy; folds of the training set select L2.

    TREC and MRPC use this protocol.

    Args:
        features: Tensor of shape (rows, features) with a bias column.
        labels: Int64 array of shape (rows,).
        train: The numbers of the training rows, int64.
        test: The numbers of the test rows, int64.
        setting: The hyper-parameters.

    Returns:
        Test and dev accuracy, in [0, 1].
    """
    scores = _accuracies(train_together(features, labels, _grid(labels, train, setting, (SEED,)), setting))
    means = scores.mean(axis=0)
    refit = _refit(train, _best(means), (SEED, setting.folds))
    final = train_together(features, labels, [refit], setting)[0][0]
    return _score(features, labels, test, final), float(means.max())


def given_splits(
    features: torch.Tensor,
    labels: np.ndarray,
    train: np.ndarray,
    dev: np.ndarray,
    test: np.ndarray,
    setting: ProbeSetting,
) -> tuple[float, float]:
    """Compute test and dev accuracy; the dev split selects L2.

    SST2 uses this protocol; the dev split also stops the training. SentEval trains the selected classifier
    again with the same seed and dev split, which gives the same classifier, so it is not trained again here.

    Args:
        features: Tensor of shape (rows, features) with a bias column.
        labels: Int64 array of shape (rows,).
        train: The numbers of the training rows, int64.
        dev: The numbers of the dev rows, int64.
        test: The numbers of the test rows, int64.
        setting: The hyper-parameters.

    Returns:
        Test and dev accuracy, in [0, 1].
    """
    trained = train_together(features, labels, [Fit(train, dev, L2_GRID, (SEED,))], setting)
    scores = _accuracies(trained)[0]
    return _score(features, labels, test, trained[0][_best(scores)]), float(scores.max())


def stratified_folds(labels: np.ndarray, folds: int, seed: tuple[int, ...]) -> list[np.ndarray]:
    """Split rows into folds.

    Fold sizes differ by at most one, in total and within each class.

    Args:
        labels: Int64 array of shape (rows,).
        folds: The number of folds.
        seed: The seed of the split.

    Returns:
        A list of sorted row numbers, int64.
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    return [np.sort(by_class[start::folds]) for start in range(folds)]


def _grid(labels: np.ndarray, rows: np.ndarray, setting: ProbeSetting, seed: tuple[int, ...]) -> list[Fit]:
    """Return a fit for each fold of `rows`, with all L2 values.

    The fold stops the training.
    """
    folds = stratified_folds(labels[rows], setting.folds, seed)
    fits = []
    for number, fold in enumerate(folds):
        fits.append(Fit(np.delete(rows, fold), rows[fold], L2_GRID, (*seed, number)))
    return fits


def _refit(rows: np.ndarray, best: int, seed: tuple[int, ...]) -> Fit:
    """Return a fit with one L2 value on all rows except 5%.

    The 5% stop the training.
    """
    order = np.random.default_rng(seed).permutation(rows)
    held_out = max(1, int(HELD_OUT * len(rows)))
    return Fit(order[held_out:], order[:held_out], (L2_GRID[best],), seed)


def _best(accuracies: np.ndarray) -> int:
    """Return the index of the best L2 value, the smallest in case of ties.

    SentEval compares accuracies with two decimals.
    """
    return int(np.argmax(np.round(100 * accuracies, 2)))


def _accuracies(trained: Sequence[Sequence[Trained]]) -> np.ndarray:
    """Return the accuracies on the check rows, of shape (fits, L2 values)."""
    rows = []
    for per_fit in trained:
        rows.append([probe.accuracy for probe in per_fit])
    return np.array(rows)


def _score(features: torch.Tensor, labels: np.ndarray, rows: np.ndarray, trained: Trained) -> float:
    assert trained.weights is not None, "the first epoch is the best so far"
    return correct_shares(features, labels, rows, trained.weights[None])[0]
