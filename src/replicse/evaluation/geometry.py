"""Alignment and uniformity of sentence vectors on STS-B (methods 2.4; Wang and Isola 2020)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.sts import load_sts
from replicse.evaluation.suites import Vectors

SPLITS = ("train", "dev", "test")
POSITIVE_ABOVE = 4.0
_BLOCK = 1024
_NORM_TOLERANCE = 1e-3


def sentences(root: Path, splits: Sequence[str] = SPLITS) -> Iterator[str]:
    """Yield every sentence of these splits of STS-B, duplicates included."""
    for split in splits:
        for subset in load_sts(root, "STS-B", split):
            yield from subset.sentences


def evaluate(root: Path, vectors: Vectors, splits: Sequence[str] = SPLITS) -> dict[str, Any]:
    """Return alignment, uniformity, n_positive and n_sentences over some splits of STS-B, all by default.

    SimCSE measures on all of them (methods 2.4), DiffCSE's Table 11 on the test set alone.

    Positive pairs have a score strictly above 4. Vectors are normalised first; where one cannot be (zero, or
    not finite), both numbers are None, with the reason under `failures`.
    """
    subsets = [subset for split in splits for subset in load_sts(root, "STS-B", split)]
    gold = np.concatenate([subset.gold for subset in subsets])
    first, second = (
        np.concatenate([vectors(getattr(subset, side)) for subset in subsets]) for side in ("first", "second")
    )
    positive = gold > POSITIVE_ABOVE
    result: dict[str, Any] = {
        "alignment": None,
        "uniformity": None,
        "n_positive": int(positive.sum()),
        "n_sentences": 2 * len(gold),
    }
    norms = np.linalg.norm(np.concatenate([first, second]), axis=1)
    if not (np.isfinite(norms).all() and norms.all()):
        reason = "a sentence vector is zero or not finite"
        return {**result, "failures": {"alignment": reason, "uniformity": reason}}
    first, second = normalised(first), normalised(second)
    result["alignment"] = alignment(first[positive], second[positive])
    result["uniformity"] = uniformity(np.concatenate([first, second]))
    return result


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Return rows of length 1."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def alignment(x: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared distance of the pairs (x_i, y_i); ValueError for rows not of length 1."""
    _check_normalised(x)
    _check_normalised(y)
    if x.shape != y.shape or not len(x):
        raise ValueError(f"alignment needs pairs; got shapes {x.shape} and {y.shape}")
    return float((np.subtract(x, y, dtype=np.float64) ** 2).sum(axis=1).mean())


def uniformity(x: np.ndarray) -> float:
    """Return log mean exp(-2 d^2) over all pairs i < j of rows; ValueError for rows that are not of length 1.

    Equal rows count as often as they occur. Works in blocks, so that no n x n matrix is ever held; the
    exponents lie between -8 and 0, so that the plain sum is stable.
    """
    _check_normalised(x)
    n = len(x)
    if n < 2:
        raise ValueError(f"uniformity needs two vectors; got {n}")
    total = 0.0
    for start in range(0, n, _BLOCK):
        # d^2 = 2 - 2 cos; rounding may lift a cosine above 1.
        kernel = np.minimum(x[start : start + _BLOCK] @ x[start:].T, 1)
        kernel -= 1
        kernel *= 4
        np.exp(kernel, out=kernel)
        square = kernel[:, : len(kernel)]
        total += float(kernel[:, len(kernel) :].sum(dtype=np.float64))
        total += float(np.triu(square, 1).sum(dtype=np.float64))
    return float(np.log(total / (n * (n - 1) / 2)))


def _check_normalised(x: np.ndarray) -> None:
    norms = np.linalg.norm(x, axis=1)
    if not (np.abs(norms - 1) <= _NORM_TOLERANCE).all():
        worst = norms[np.argmax(np.abs(norms - 1))]
        raise ValueError(f"alignment and uniformity need vectors of length 1; one has length {worst:g}")
