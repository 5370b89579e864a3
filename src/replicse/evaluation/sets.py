"""Evaluation sets of your own: correlations of cosines with the scores of pairs, a probe on labelled sentences.

A table of the working directory is read, whatever the data root is.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.set_tables import load_labelled, load_pairs
from replicse.data.sts import StsSubset
from replicse.data.transfer import TransferTask
from replicse.evaluation.correlation import pearson, spearman
from replicse.evaluation.sts import bounds, predict, score_task
from replicse.evaluation.suites import Vectors, focused
from replicse.evaluation.transfer import METRICS, SETTINGS, run_task
from replicse.files import sha256_of
from replicse.registry.sets import EvaluationSet
from replicse.registry.suites import AGGREGATIONS

Sets = Mapping[str, EvaluationSet]
Pairs = tuple[np.ndarray, np.ndarray]  # cosines and scores


def sentences(root: Path, sets: Sets) -> Iterator[str]:
    """Yield every sentence of the sets."""
    for name, one in sets.items():
        yield from _of_pairs(load_pairs(one)) if one.has_pairs else _of_task(load_labelled(name, one))


def evaluate(root: Path, vectors: Vectors, sets: Sets) -> dict[str, Any]:
    """Return the scores of each set (x 100), the rows `n`, and the `file` with its `sha256`.

    Of pairs these are `spearman` and `pearson`, each with all, mean and wmean as the similarity tasks have them, of
    labelled sentences `accuracy` and `dev_accuracy` of the probe of the transfer tasks. An undefined score is None,
    with its reason under `failures`; `pairs` holds (cosines, scores) by set. Post-processing that is fitted on its
    target is so on each set by itself.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, Pairs] = {}
    for name, one in sets.items():
        if one.has_pairs:
            scores[name], reasons, pairs[f"{name}/spearman"] = _similarity(load_pairs(one), vectors)
        else:
            scores[name], reasons = _probe(load_labelled(name, one), vectors)
        scores[name] |= {"file": one.file, "sha256": sha256_of(Path(one.file))}
        failures |= {f"{name}/{path}": reason for path, reason in reasons.items()}
    return {**scores, "failures": failures, "pairs": pairs}


def _similarity(
    subsets: Sequence[StsSubset], vectors: Vectors
) -> tuple[dict[str, Any], dict[str, str], Pairs]:
    """Return the correlations of scored pairs, why some are None, and the cosines and scores that they are of."""
    predicted = predict(subsets, focused(vectors, _of_pairs(subsets)))
    both = np.concatenate(predicted), np.concatenate([subset.gold for subset in subsets])
    scores: dict[str, Any] = {"n": len(both[1])}
    failures: dict[str, str] = {}
    for kind, correlation in (("spearman", spearman), ("pearson", pearson)):
        aggregated, reason = score_task(subsets, predicted, correlation)
        scores[kind] = {key: aggregated[key] for key in AGGREGATIONS}
        failures |= {f"{kind}/{key}": reason for key in AGGREGATIONS if aggregated[key] is None}
    scores["spearman"] |= bounds(*both)
    return scores, failures, both


def _probe(task: TransferTask, vectors: Vectors) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the accuracies of a probe on labelled sentences, and why they are None."""
    values = run_task(task, focused(vectors, _of_task(task)), SETTINGS["test"])
    scores: dict[str, Any] = dict(zip(METRICS, values or (None, None), strict=True))
    scores["n"] = sum(len(split.labels) for split in task.splits.values())
    return scores, {} if values else dict.fromkeys(METRICS, "a sentence vector is not finite")


def _of_pairs(subsets: Sequence[StsSubset]) -> Iterator[str]:
    return (sentence for subset in subsets for sentence in subset.sentences)


def _of_task(task: TransferTask) -> Iterator[str]:
    return (sentence for split in task.splits.values() for sentence in split.first)
