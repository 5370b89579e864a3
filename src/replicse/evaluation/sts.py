"""STS tasks: Spearman's correlation of cosines and gold scores.

Methods 2.1 and 2.2.
"""

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
AT_ONCE = 50_000  # pairs in memory at a time; more than any dataset of the papers has
TASKS = {"test": STS_TASKS, "dev": STS_DEV_TASKS}


def sentences(root: Path, split: str = "test", tasks: Sequence[str] | None = None) -> Iterator[str]:
    """Yield every sentence that `evaluate` encodes with these options.

    Args:
        root: The data root, a folder of datasets.
        split: `test` or `dev`. Default: `test`.
        tasks: A list of tasks. Default: all tasks of the split.
    """
    for task in tasks or TASKS[split]:
        for subset in load_sts(root, task, split):
            yield from subset.sentences


def evaluate(
    root: Path, vectors: Vectors, split: str = "test", tasks: Sequence[str] | None = None
) -> dict[str, Any]:
    """Compute the scores (x 100) of each STS task.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        split: `test`, or `dev` with only STS-B and SICK-R. Default: `test`.
        tasks: A list of tasks. Default: all tasks of the split.

    Returns:
        A dict with `all`, `mean`, `wmean` and `n` of each task, and `low` and `high`, the 95% bootstrap
        interval of `all` over pairs. The test split also has `avg`, the `average` of the seven `all`, and
        `avg-mean` and `avg-wmean`. If a score is undefined, it is None and `failures` has the reason; an
        average is None if a part is. `pairs` has (cosines, gold) by task.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for task in tasks or TASKS[split]:
        # "Target" post-processing is fitted on the sentences of all splits of the task (methods 2.5).
        task_vectors = focused(vectors, _all_splits(root, task))
        subsets = load_sts(root, task, split)
        predicted = predict(subsets, task_vectors)
        scores[task], reason = score_task(subsets, predicted)
        pairs[task] = np.concatenate(predicted), np.concatenate([subset.gold for subset in subsets])
        scores[task] |= bounds(*pairs[task])
        for key in AGGREGATIONS:
            if scores[task][key] is None:
                failures[f"{task}/{key}"] = reason
    if split == "test":
        for name, key in AVERAGES.items():
            scores[name] = average([scores.get(task, {}).get(key) for task in STS_TASKS])
        for name, key in AVERAGES.items():
            undefined = [task for task in TASKS[split] if f"{task}/{key}" in failures]
            if undefined:
                reason = failures[f"{undefined[0]}/{key}"]
                failures[name] = f"a part is undefined: {undefined[0]}, {reason}"
    return {**scores, "failures": failures, "pairs": pairs}


def _all_splits(root: Path, task: str) -> Iterator[str]:
    for split in STS_SPLITS.get(task, ("test",)):
        for subset in load_sts(root, task, split):
            yield from subset.sentences


def predict(subsets: Sequence[StsSubset], vectors: Vectors) -> list[np.ndarray]:
    """Compute the cosines of each subset's pairs.

    Pairs are processed in blocks, because their vectors are copied.

    Args:
        subsets: The subsets of a task.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).

    Returns:
        A list of float64 arrays of shape (pairs,).
    """
    return [np.concatenate(list(_cosines_by_block(subset, vectors))) for subset in subsets]


def _cosines_by_block(subset: StsSubset, vectors: Vectors) -> Iterator[np.ndarray]:
    for start in range(0, len(subset.gold), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        yield cosines(vectors(subset.first[block]), vectors(subset.second[block]))


def bounds(predicted: np.ndarray, gold: np.ndarray) -> dict[str, float | None]:
    """Compute the interval of `all` over test pairs.

    Args:
        predicted: The cosines, (pairs,).
        gold: The gold scores, (pairs,).

    Returns:
        A dict with `low` and `high` (x 100), which are None if the correlation is undefined.
    """
    interval = spearman_interval(predicted, gold) if np.isfinite(predicted).all() else None
    if interval is None:
        return {"low": None, "high": None}
    return {"low": 100 * interval.low, "high": 100 * interval.high}


def score_task(
    subsets: Sequence[StsSubset], predicted: Sequence[np.ndarray], correlation: Correlation = spearman
) -> tuple[dict[str, Any], str]:
    """Compute the scores of a task (x 100).

    `all` is one correlation over the pairs of all subsets, `mean` the mean of the subsets' correlations, and
    `wmean` their mean weighted by size. Papers differ in which of them they report (methods 2.2).

    Args:
        subsets: The subsets of the task.
        predicted: A list of the cosines of each subset, (pairs,).
        correlation: The correlation of cosines and gold scores. Default: Spearman's.

    Returns:
        A dict of the scores and `n`, and the reason if scores are None.
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
