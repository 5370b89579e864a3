"""Evaluation sets of one's own: correlations of cosines with the scores of pairs, a probe on labelled sentences.

A table of the working directory is read, whatever the data root is.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.set_tables import load_labelled, load_pairs
from replicse.data.sts import StsSubset
from replicse.evaluation.correlation import pearson
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
        if one.has_pairs:
            yield from _sentences(load_pairs(one))
        else:
            for split in load_labelled(name, one).splits.values():
                yield from split.first


def evaluate(root: Path, vectors: Vectors, sets: Sets) -> dict[str, Any]:
    """Return the scores of each set (x 100), the rows `n`, and the `file` with its `sha256`.

    Of pairs these are `spearman` and `pearson`, each with all, mean and wmean as the similarity tasks have them, of
    labelled sentences `accuracy` and `dev_accuracy` of the probe of the transfer tasks. An undefined score is None,
    with its reason under `failures`; `pairs` holds (cosines, scores) by set.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, Pairs] = {}
    for name, one in sets.items():
        if one.has_pairs:
            subsets = load_pairs(one)
            predicted = predict(subsets, focused(vectors, _sentences(subsets)))
            pairs[f"{name}/spearman"] = np.concatenate(predicted), np.concatenate([each.gold for each in subsets])
            scores[name], reasons = _correlations(subsets, predicted)
        else:
            scores[name], reasons = _probe(name, one, vectors)
        scores[name] |= {"file": one.file, "sha256": sha256_of(Path(one.file))}
        failures |= {f"{name}/{path}": reason for path, reason in reasons.items()}
    return {**scores, "failures": failures, "pairs": pairs}


def _sentences(subsets: Sequence[StsSubset]) -> Iterator[str]:
    return (sentence for subset in subsets for sentence in subset.sentences)


def _correlations(
    subsets: Sequence[StsSubset], predicted: Sequence[np.ndarray]
) -> tuple[dict[str, Any], dict[str, str]]:
    ranks, reason = score_task(subsets, predicted)
    lines, _ = score_task(subsets, predicted, pearson)
    ranks |= bounds(np.concatenate(predicted), np.concatenate([each.gold for each in subsets]))
    scores = {"n": ranks.pop("n"), "spearman": ranks, "pearson": {key: lines[key] for key in AGGREGATIONS}}
    undefined = [f"{kind}/{key}" for kind in ("spearman", "pearson") for key in AGGREGATIONS if scores[kind][key] is None]
    return scores, dict.fromkeys(undefined, reason)


def _probe(name: str, one: EvaluationSet, vectors: Vectors) -> tuple[dict[str, Any], dict[str, str]]:
    task = load_labelled(name, one)
    values = run_task(task, vectors, SETTINGS["test"]) or (None, None)
    scores: dict[str, Any] = dict(zip(METRICS, values, strict=True))
    scores["n"] = sum(len(split.labels) for split in task.splits.values())
    return scores, {metric: "a sentence vector is not finite" for metric in METRICS if scores[metric] is None}
