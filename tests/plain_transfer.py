"""SentEval's classifiers, trained one after another with torch.

A slow reference for `linear_probe`; uses torch's layers and optimisers.
"""

import copy

import numpy as np
import torch

from replicse.evaluation.linear_probe import MAX_PASSES, Fit, ProbeSetting
from replicse.evaluation.transfer import HELD_OUT, L2_GRID, SEED, stratified_folds


def plain_train(vectors: np.ndarray, labels: np.ndarray, fit: Fit, l2: float, setting: ProbeSetting):
    """Train one classifier.

    Args:
        vectors: Array of shape (rows, width).
        labels: Class of each row.
        fit: Rows to train on and to check on, and the seed.
        l2: Weight decay.
        setting: Settings of the classifier.

    Returns:
        The best accuracy on the check rows, and the model with this accuracy.
    """
    generator = np.random.default_rng(fit.seed)
    features, targets = torch.from_numpy(vectors), torch.from_numpy(labels)
    classes, width = int(labels.max()) + 1, vectors.shape[1]
    first = torch.from_numpy(generator.uniform(-1, 1, (classes, width + 1)) / np.sqrt(width))
    model = torch.nn.Linear(width, classes, dtype=features.dtype)
    with torch.no_grad():
        model.weight.copy_(first[:, :-1])
        model.bias.copy_(first[:, -1])
    kind = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[setting.optimiser]
    optimiser = kind(model.parameters(), lr=setting.learning_rate, weight_decay=l2)
    loss_of = torch.nn.CrossEntropyLoss()
    best, best_model, misses, passes = -1.0, None, 0, 0
    while passes <= MAX_PASSES and misses <= setting.tenacity:
        for _ in range(setting.epoch_size):
            order = torch.from_numpy(generator.permutation(fit.train))
            for rows in order.split(setting.batch_size):
                optimiser.zero_grad()
                loss_of(model(features[rows]), targets[rows]).backward()
                optimiser.step()
        passes += setting.epoch_size
        accuracy = plain_score(vectors, labels, fit.check, model)
        if accuracy > best:
            best, best_model = accuracy, copy.deepcopy(model)
        else:
            misses += 1
    return best, best_model


def plain_score(vectors, labels, rows, model) -> float:
    with torch.no_grad():
        predicted = model(torch.from_numpy(vectors[rows])).argmax(1).numpy()
    return float((predicted == labels[rows]).mean())


def plain_choice(vectors, labels, rows, setting, seed) -> tuple[float, float]:
    """Return the best L2 value in cross-validation, and the mean accuracy."""
    folds = stratified_folds(labels[rows], setting.folds, seed)
    means = []
    for l2 in L2_GRID:
        scores = []
        for number, fold in enumerate(folds):
            fit = Fit(np.delete(rows, fold), rows[fold], (l2,), (*seed, number))
            scores.append(plain_train(vectors, labels, fit, l2, setting)[0])
        means.append(np.mean(scores))
    best = int(np.argmax(np.round(100 * np.array(means), 2)))
    return L2_GRID[best], max(means)


def plain_refit_and_test(vectors, labels, rows, test, l2, setting, seed) -> float:
    order = np.random.default_rng(seed).permutation(rows)
    held_out = max(1, int(HELD_OUT * len(rows)))
    fit = Fit(order[held_out:], order[:held_out], (l2,), seed)
    return plain_score(vectors, labels, test, plain_train(vectors, labels, fit, l2, setting)[1])


def plain_nested_folds(vectors, labels, setting) -> tuple[float, float]:
    """Return test and dev accuracy of nested cross-validation."""
    tests, devs = [], []
    for number, test in enumerate(stratified_folds(labels, setting.folds, (SEED,))):
        rows = np.setdiff1d(np.arange(len(labels)), test)
        l2, dev = plain_choice(vectors, labels, rows, setting, (SEED, number))
        devs.append(dev)
        seed = (SEED, number, setting.folds)
        tests.append(plain_refit_and_test(vectors, labels, rows, test, l2, setting, seed))
    return float(np.mean(tests)), float(np.mean(devs))


def plain_folds_then_test(vectors, labels, train, test, setting) -> tuple[float, float]:
    """Return test and dev accuracy, with L2 chosen on folds of training rows."""
    l2, dev = plain_choice(vectors, labels, train, setting, (SEED,))
    seed = (SEED, setting.folds)
    return plain_refit_and_test(vectors, labels, train, test, l2, setting, seed), float(dev)


def plain_given_splits(vectors, labels, train, dev, test, setting) -> tuple[float, float]:
    """Return test and dev accuracy if all splits are given."""
    trained = [plain_train(vectors, labels, Fit(train, dev, (l2,), (SEED,)), l2, setting) for l2 in L2_GRID]
    scores = [accuracy for accuracy, _ in trained]
    best = trained[int(np.argmax(np.round(100 * np.array(scores), 2)))][1]
    return plain_score(vectors, labels, test, best), max(scores)
