"""Your own evaluation datasets: scored pairs, or labelled sentences.

A table is loaded from the working directory, whatever the data root is. Pairs are scored by correlations,
labelled sentences by a probe.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.set_tables import load_labelled, load_pairs
from replicse.data.sts import StsSubset
from replicse.data.transfer import TransferTask
from replicse.evaluation.correlation import pearson, spearman
from replicse.evaluation.geometry import measure_pairs
from replicse.evaluation.sts import bounds, predict, score_task
from replicse.evaluation.suites import Vectors, focused
from replicse.evaluation.transfer import METRICS, SETTINGS, run_task
from replicse.files import sha256_of
from replicse.registry.sets import EvaluationSet
from replicse.registry.suites import AGGREGATIONS

Sets = Mapping[str, EvaluationSet]
Pairs = tuple[np.ndarray, np.ndarray]  # cosines and scores


def sentences(root: Path, sets: Sets) -> Iterator[str]:
    """Yield every sentence of the datasets.

    Args:
        root: Not used.
        sets: A dict from names to datasets.
    """
    for name, one in sets.items():
        yield from _of_pairs(load_pairs(one)) if one.has_pairs else _of_task(load_labelled(name, one))


def evaluate(root: Path, vectors: Vectors, sets: Sets) -> dict[str, Any]:
    """Compute the scores of each dataset (x 100).

    Pairs get `spearman` and `pearson`, each with all, mean and wmean like the STS tasks. Labelled sentences
    get `accuracy` and `dev_accuracy` of the probe of the transfer tasks. Pairs of a dataset with
    `positive_above` also get `alignment`, `uniformity` and `n_positive`. If a post-processing is fitted on the
    target, it is fitted on each dataset separately.

    Args:
        root: Not used.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        sets: A dict from names to datasets.

    Returns:
        A dict with the scores by dataset, with the number of rows `n`, the `file` and the `sha256`. If a
        score is undefined, it is None and `failures` has the reason. `pairs` has (cosines, scores) by
        dataset.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, Pairs] = {}
    for name, one in sets.items():
        if one.has_pairs:
            subsets = load_pairs(one)
            scores[name], reasons, pairs[f"{name}/spearman"] = _similarity(subsets, vectors)
            if one.positive_above is not None:
                geometry, reason = _geometry(subsets, vectors, one.positive_above)
                scores[name] |= geometry
                reasons |= dict.fromkeys(("alignment", "uniformity"), reason) if reason else {}
        else:
            scores[name], reasons = _probe(load_labelled(name, one), vectors)
        scores[name] |= {"file": one.file, "sha256": sha256_of(Path(one.file))}
        failures |= {f"{name}/{path}": reason for path, reason in reasons.items()}
    return {**scores, "failures": failures, "pairs": pairs}


def _similarity(
    subsets: Sequence[StsSubset], vectors: Vectors
) -> tuple[dict[str, Any], dict[str, str], Pairs]:
    """Return correlations of scored pairs, failures, and cosines with scores."""
    predicted = predict(subsets, focused(vectors, _of_pairs(subsets)))
    both = np.concatenate(predicted), np.concatenate([subset.gold for subset in subsets])
    scores: dict[str, Any] = {"n": len(both[1])}
    failures: dict[str, str] = {}
    for kind, correlation in (("spearman", spearman), ("pearson", pearson)):
        aggregated, reason = score_task(subsets, predicted, correlation)
        scores[kind] = {key: aggregated[key] for key in AGGREGATIONS}
        for key in AGGREGATIONS:
            if aggregated[key] is None:
                failures[f"{kind}/{key}"] = reason
    scores["spearman"] |= bounds(*both)
    return scores, failures, both


def _geometry(subsets: Sequence[StsSubset], vectors: Vectors, above: float) -> tuple[dict[str, Any], str]:
    """Return alignment and uniformity, and the reason if they are missing."""
    fitted = focused(vectors, _of_pairs(subsets))
    first = np.concatenate([fitted(subset.first) for subset in subsets])
    second = np.concatenate([fitted(subset.second) for subset in subsets])
    gold = np.concatenate([subset.gold for subset in subsets])
    return measure_pairs(first, second, gold, above)


def _probe(task: TransferTask, vectors: Vectors) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the accuracies of a probe on labelled sentences, and failures."""
    values = run_task(task, focused(vectors, _of_task(task)), SETTINGS["test"])
    scores: dict[str, Any] = dict(zip(METRICS, values or (None, None), strict=True))
    scores["n"] = sum(len(split.labels) for split in task.splits.values())
    return scores, {} if values else dict.fromkeys(METRICS, "a sentence vector is not finite")


def _of_pairs(subsets: Sequence[StsSubset]) -> Iterator[str]:
    return chain.from_iterable(subset.sentences for subset in subsets)


def _of_task(task: TransferTask) -> Iterator[str]:
    return chain.from_iterable(split.first for split in task.splits.values())
