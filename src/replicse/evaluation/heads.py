"""Evaluate the heads that a run trained for labelled tasks.

Scores are accuracy for classifiers and Pearson's r for similarities. They are fractions from 0 to 1, not
percentages, like the numbers of the course for which 2-Tier SimCSE was written (methods 5).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from replicse.data.corpora import labels_of, read_corpus
from replicse.encoder.task_heads import Classifier, Similarity, load_task_heads
from replicse.evaluation.correlation import pearson
from replicse.evaluation.density import rating_groups
from replicse.evaluation.suites import Vectors
from replicse.registry.corpora import Labelled
from replicse.registry.encoders import SimilarityHead
from replicse.registry.suites import RATINGS


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Rows of a labelled dataset.

    Attributes:
        columns: A tuple of sentences for each column.
        labels: Float64 array of shape (rows,).
    """

    columns: tuple[tuple[str, ...], ...]
    labels: np.ndarray

    @property
    def every(self) -> Iterator[str]:
        """Return the sentences of all columns."""
        return chain.from_iterable(self.columns)


def load_labelled(root: Path, corpus: Labelled) -> LabelledSet:
    """Load a labelled dataset.

    Args:
        root: The data root, a folder of datasets.
        corpus: The file of the dataset and the columns.

    Raises:
        BadInput: If a line is malformed.
        MissingData: If the file does not exist.
    """
    columns = read_corpus(root, corpus)
    return LabelledSet(
        tuple(tuple(columns[name]) for name in corpus.columns), np.array(labels_of(columns), dtype=np.float64)
    )


def sentences(root: Path, tasks: Mapping[str, Labelled], folder: str = "") -> Iterator[str]:
    """Yield the sentences of all tasks.

    Args:
        root: The data root, a folder of datasets.
        tasks: A dict from tasks to labelled datasets.
        folder: Not used.
    """
    for corpus in tasks.values():
        yield from load_labelled(root, corpus).every


def evaluate(root: Path, vectors: Vectors, tasks: Mapping[str, Labelled], folder: str = "") -> dict[str, Any]:
    """Compute accuracy or Pearson's r, and n, of each labelled task.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        tasks: A dict from tasks to labelled datasets.
        folder: The folder of the encoder with the heads. If there is no head for a task of rated pairs, the
            rating is the scaled cosine, as in training; other tasks without a head are failures. Default: no
            heads.

    Returns:
        A dict with `accuracy` or `pearson` (from 0 to 1) and `n` of each task, and `failures` if a score is
        None.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    heads: dict[str, nn.Module] | None = None
    for task, corpus in tasks.items():
        labelled = load_labelled(root, corpus)
        if heads is None:
            width = vectors(labelled.columns[0][:1]).shape[1]
            heads = dict(load_task_heads(Path(folder), width).items()) if folder else {}
        head = heads.get(task)
        if head is None and not _is_rated(labelled):
            failures[f"{task}/accuracy"] = f"this encoder was not trained with a head of task {task}"
            scores[task] = {"accuracy": None, "pearson": None, "n": len(labelled.labels)}
            continue
        scores[task] = predicted_scores(labelled, vectors, head)
        if scores[task].get("pearson", 0) is None and "heat" in scores[task]:
            failures[f"{task}/pearson"] = "all predictions are equal, or some are not finite"
    return {**scores, "failures": failures} if failures else scores


def _is_rated(labelled: LabelledSet) -> bool:
    """Return whether labels are ratings of pairs, and not classes."""
    return len(labelled.columns) == 2 and len(np.unique(labelled.labels)) > 2


def predicted_scores(labelled: LabelledSet, vectors: Vectors, head: nn.Module | None) -> dict[str, Any]:
    """Compute the scores of a head's predictions.

    Args:
        labelled: The labelled dataset.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        head: The head, or None to use a scaled cosine.

    Returns:
        A dict with `accuracy`, or with `pearson` and `heat` (see `heat`), and `n`.
    """
    inputs = [torch.from_numpy(np.ascontiguousarray(vectors(column))) for column in labelled.columns]
    head = head or Similarity(SimilarityHead(kind="similarity"), inputs[0].shape[1])
    device = next((weight.device for weight in head.parameters()), inputs[0].device)
    inputs = [column.to(device) for column in inputs]
    with torch.no_grad():
        if isinstance(head, Classifier):
            right = head.label(*inputs).cpu().numpy() == labelled.labels
            return {"accuracy": float(right.mean()), "n": len(right)}
        ratings = head(*inputs).double().cpu().numpy()
    return {
        "pearson": pearson(ratings, labelled.labels),
        "n": len(ratings),
        "heat": heat(labelled.labels, ratings),
    }


def heat(labels: np.ndarray, ratings: np.ndarray) -> dict[str, dict[str, float]]:
    """Compute the share of pairs predicted in each group, by human rating.

    Args:
        labels: The human ratings, (n,).
        ratings: The predicted ratings, (n,).

    Returns:
        A dict from groups of human ratings to dicts from groups of predicted ratings to shares, which sum to
        1 unless the group is empty.
    """
    human, ours = rating_groups(labels), rating_groups(np.nan_to_num(ratings))
    table = np.zeros((len(RATINGS), len(RATINGS)))
    np.add.at(table, (human, ours), 1)
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    rows = {}
    for row, values in zip(RATINGS, shares.tolist(), strict=True):
        rows[row] = dict(zip(RATINGS, values, strict=True))
    return rows
