"""Labelled tasks through the heads that a run trained: accuracy of classifiers, Pearson's r of similarities.

Fractions from 0 to 1, as the course prints them that 2-Tier SimCSE was written for, not percentages (methods 5).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    """Rows of a labelled set: one tuple of sentences a column, and the labels, float64 (rows,)."""

    columns: tuple[tuple[str, ...], ...]
    labels: np.ndarray

    @property
    def every(self) -> Iterator[str]:
        """Yield the sentences of all columns."""
        return (sentence for column in self.columns for sentence in column)


def load_labelled(root: Path, corpus: Labelled) -> LabelledSet:
    """Return a labelled set; BadInput and MissingData as `read_corpus`."""
    columns = read_corpus(root, corpus)
    return LabelledSet(
        tuple(tuple(columns[name]) for name in corpus.columns), np.array(labels_of(columns), dtype=np.float64)
    )


def sentences(root: Path, tasks: Mapping[str, Labelled], folder: str = "") -> Iterator[str]:
    """Yield the sentences of all tasks."""
    for corpus in tasks.values():
        yield from load_labelled(root, corpus).every


def evaluate(root: Path, vectors: Vectors, tasks: Mapping[str, Labelled], folder: str = "") -> dict[str, Any]:
    """Return accuracy or Pearson's r, and n, of each task by the head stored with the encoder in `folder`.

    A task of pairs that no head was trained for is rated by the cosine as it would be in training; any other fails.
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
            failures |= dict.fromkeys(
                (f"{task}/accuracy",), f"no head of task {task} was trained with this encoder"
            )
            scores[task] = {"accuracy": None, "pearson": None, "n": len(labelled.labels)}
            continue
        scores[task] = predicted_scores(labelled, vectors, head)
        if scores[task].get("pearson", 0) is None and "heat" in scores[task]:
            failures[f"{task}/pearson"] = "all predictions are equal, or one is not finite"
    return {**scores, "failures": failures} if failures else scores


def _is_rated(labelled: LabelledSet) -> bool:
    """Return whether labels are ratings of pairs, not classes."""
    return len(labelled.columns) == 2 and len(np.unique(labelled.labels)) > 2


def predicted_scores(labelled: LabelledSet, vectors: Vectors, head: nn.Module | None) -> dict[str, Any]:
    """Return the scores of a head's predictions; without a head, those of the scaled cosine."""
    inputs = [torch.from_numpy(np.ascontiguousarray(vectors(column))) for column in labelled.columns]
    head = head or Similarity(SimilarityHead(kind="similarity"), inputs[0].shape[1])
    device = next((weight.device for weight in head.parameters()), inputs[0].device)
    inputs = [each.to(device) for each in inputs]
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
    """Return, for each group of human ratings, the share of its pairs that are predicted in each group."""
    human, ours = rating_groups(labels), rating_groups(np.nan_to_num(ratings))
    table = np.zeros((len(RATINGS), len(RATINGS)))
    np.add.at(table, (human, ours), 1)
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    return {
        row: dict(zip(RATINGS, values, strict=True))
        for row, values in zip(RATINGS, shares.tolist(), strict=True)
    }
