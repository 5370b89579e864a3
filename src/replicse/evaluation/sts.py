"""Semantic textual similarity: Spearman between cosines and gold scores (methods 2.1 and 2.2)."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.sts import STS_SPLITS, StsSubset, load_sts
from replicse.evaluation.bootstrap import spearman_interval
from replicse.evaluation.correlation import cosines, spearman
from replicse.evaluation.suites import Vectors, average, focused
from replicse.registry.suites import AGGREGATIONS, AVERAGES, STS_DEV_TASKS, STS_TASKS

Correlation = Callable[[np.ndarray, np.ndarray], float | None]
AT_ONCE = 50_000  # pairs, more than any set of the papers has
TASKS = {"test": STS_TASKS, "dev": STS_DEV_TASKS}


def sentences(root: Path, split: str = "test", tasks: Sequence[str] | None = None) -> Iterator[str]:
    """Yield every sentence that `evaluate` asks for with these options."""
    for task in tasks or TASKS[split]:
        for subset in load_sts(root, task, split):
            yield from subset.sentences


def evaluate(
    root: Path, vectors: Vectors, split: str = "test", tasks: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return all, mean, wmean (x 100) and n of each task; of the test split also avg.

    `low` and `high` bound `all` over resampled pairs (95%). avg is the `average` of the seven `all`; avg-mean
    and avg-wmean are next to it.

    The split "dev" has STS-B and SICK-R only. An undefined score is None, with its reason under `failures`;
    avg is None where one of its parts is undefined or was not asked for. `pairs` holds (cosines, gold) by task.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for task in tasks or TASKS[split]:
        # "Target" post-processing is fitted on the task's own sentences, of all its splits (methods 2.5).
        task_vectors = focused(vectors, _all_splits(root, task))
        subsets = load_sts(root, task, split)
        predicted = predict(subsets, task_vectors)
        scores[task], reason = score_task(subsets, predicted)
        pairs[task] = np.concatenate(predicted), np.concatenate([subset.gold for subset in subsets])
        scores[task] |= bounds(*pairs[task])
        failures |= {f"{task}/{key}": reason for key in AGGREGATIONS if scores[task][key] is None}
    if split == "test":
        for name, key in AVERAGES.items():
            scores[name] = average([scores.get(task, {}).get(key) for task in STS_TASKS])
        for name, key in AVERAGES.items():
            undefined = [task for task in TASKS[split] if f"{task}/{key}" in failures]
            if undefined:
                failures[name] = f"a part is undefined: {undefined[0]}, {failures[f'{undefined[0]}/{key}']}"
    return {**scores, "failures": failures, "pairs": pairs}


def _all_splits(root: Path, task: str) -> Iterator[str]:
    for split in STS_SPLITS.get(task, ("test",)):
        for subset in load_sts(root, task, split):
            yield from subset.sentences


def predict(subsets: Sequence[StsSubset], vectors: Vectors) -> list[np.ndarray]:
    """Return the cosines of each subset's pairs; vectors of few pairs at once are in memory a second time."""
    return [np.concatenate(list(_cosines_by_block(subset, vectors))) for subset in subsets]


def _cosines_by_block(subset: StsSubset, vectors: Vectors) -> Iterator[np.ndarray]:
    for start in range(0, len(subset.gold), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        yield cosines(vectors(subset.first[block]), vectors(subset.second[block]))


def bounds(predicted: np.ndarray, gold: np.ndarray) -> dict[str, float | None]:
    """Return low and high of `all`: what another draw of test pairs would give; None where it is undefined."""
    interval = spearman_interval(predicted, gold) if np.isfinite(predicted).all() else None
    return {
        "low": 100 * interval.low if interval else None,
        "high": 100 * interval.high if interval else None,
    }


def score_task(
    subsets: Sequence[StsSubset], predicted: Sequence[np.ndarray], correlation: Correlation = spearman
) -> tuple[dict[str, Any], str]:
    """Return the scores of one task from the cosines of its subsets, and the reason of those that are None.

    `all` is one correlation over the pairs of all subsets, `mean` the average of the subsets' correlations,
    `wmean` the same weighted by their sizes. Papers differ in which they report (methods 2.2).
    """
    gold = [subset.gold for subset in subsets]
    sizes = [len(side) for side in gold]
    each = [correlation(left, right) for left, right in zip(predicted, gold, strict=True)]
    together = correlation(np.concatenate(predicted), np.concatenate(gold))
    correlations = [score for score in each if score is not None]
    undefined = len(correlations) < len(each)
    scores = {
        "all": None if together is None else 100 * together,
        "mean": None if undefined else 100 * float(np.mean(correlations)),
        "wmean": None if undefined else 100 * float(np.average(correlations, weights=sizes)),
        "n": sum(sizes),
    }
    worst = each.index(None) if undefined else 0
    return scores, f"{subsets[worst].name}: {_reason(predicted[worst], gold[worst])}"


def _reason(predicted: np.ndarray, gold: np.ndarray) -> str:
    if len(gold) < 2:
        return "fewer than two pairs"
    if not np.isfinite(predicted).all():
        return "a sentence vector is not finite"
    return "all cosines are equal" if np.ptp(predicted) == 0 else "all gold scores are equal"
