"""Evaluation of STS-B by a ridge regression from vectors to ratings."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from replicse.data.sts import StsSubset
from replicse.evaluation.correlation import spearman

RIDGES = (1.0, 10.0, 100.0, 1000.0)


def regressor_score(sets: Mapping[str, StsSubset], vectors: Callable[[Sequence[str]], np.ndarray]) -> float:
    """Compute the test score of a ridge regression on |u - v| and u * v.

    The development set selects the penalty.

    Args:
        sets: A dict with the splits `train`, `dev` and `test`.
        vectors: A function from n sentences to vectors, (n, width).

    Returns:
        Spearman's correlation in [-1, 1], 0 if it is undefined.
    """
    features = {}
    for split, subset in sets.items():
        features[split] = _features(vectors(subset.first), vectors(subset.second))
    centre, spread = features["train"].mean(0), features["train"].std(0) + 1e-9
    design = {split: (values - centre) / spread for split, values in features.items()}
    gram, target = design["train"].T @ design["train"], sets["train"].gold - sets["train"].gold.mean()
    moment, best = design["train"].T @ target, (-2.0, 0.0)
    for ridge in RIDGES:
        weights = np.linalg.solve(gram + ridge * np.eye(len(gram)), moment)
        dev = spearman(design["dev"] @ weights, sets["dev"].gold)
        test = spearman(design["test"] @ weights, sets["test"].gold)
        candidate = (-2.0 if dev is None else dev, 0.0 if test is None else test)
        best = max(best, candidate)
    return best[1]


def _features(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate([np.abs(first - second), first * second], axis=1).astype(np.float64)
