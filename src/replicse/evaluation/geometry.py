"""Alignment and uniformity of sentence vectors on STS-B.

Wang and Isola (2020); methods 2.4.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.sts import StsSubset, load_sts
from replicse.evaluation.suites import Vectors

SPLITS = ("train", "dev", "test")
POSITIVE_ABOVE = 4.0
_BLOCK = 1024
_NORM_TOLERANCE = 1e-3


def sentences(root: Path, splits: Sequence[str] = SPLITS) -> Iterator[str]:
    """Yield every sentence of some splits of STS-B, with duplicates.

    Args:
        root: The data root, a folder of datasets.
        splits: The splits of STS-B. Default: all.
    """
    for split in splits:
        for subset in load_sts(root, "STS-B", split):
            yield from subset.sentences


def load_splits(root: Path, splits: Sequence[str]) -> list[StsSubset]:
    """Load some splits of STS-B.

    Args:
        root: The data root, a folder of datasets.
        splits: The splits: "train", "dev" and "test".

    Returns:
        A list of subsets, one per split.

    Raises:
        BadInput: If a split is unknown, or a line is malformed.
        MissingData: If a file does not exist.
    """
    subsets: list[StsSubset] = []
    for split in splits:
        subsets += load_sts(root, "STS-B", split)
    return subsets


def evaluate(root: Path, vectors: Vectors, splits: Sequence[str] = SPLITS) -> dict[str, Any]:
    """Compute alignment and uniformity on some splits of STS-B.

    The default is all splits, as in SimCSE (methods 2.4); DiffCSE's Table 11 uses only the test split. Positive pairs
    have a score above 4. Vectors are normalised first.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        splits: The splits of STS-B. Default: all.

    Returns:
        A dict with `alignment`, `uniformity`, `n_positive` and `n_sentences`. If a vector is zero or not
        finite, both numbers are None and `failures` has the reason.
    """
    subsets = load_splits(root, splits)
    gold = np.concatenate([subset.gold for subset in subsets])
    first = np.concatenate([vectors(subset.first) for subset in subsets])
    second = np.concatenate([vectors(subset.second) for subset in subsets])
    result, reason = measure_pairs(first, second, gold, POSITIVE_ABOVE)
    result["n_sentences"] = 2 * len(gold)
    return {**result, "failures": {"alignment": reason, "uniformity": reason}} if reason else result


def measure_pairs(
    first: np.ndarray, second: np.ndarray, gold: np.ndarray, above: float
) -> tuple[dict[str, Any], str]:
    """Compute the alignment of positive pairs, and uniformity.

    Args:
        first: The vectors of the first sentences, (pairs, width).
        second: The vectors of the second sentences.
        gold: The gold scores of the pairs, (pairs,).
        above: Pairs with a higher score are positive.

    Returns:
        A dict with `alignment`, `uniformity` and `n_positive`, and the reason if both numbers are None.
    """
    positive = gold > above
    result: dict[str, Any] = {"alignment": None, "uniformity": None, "n_positive": int(positive.sum())}
    if not positive.any():
        return result, f"no pair has a score above {above:g}"
    norms = np.linalg.norm(np.concatenate([first, second]), axis=1)
    if not (np.isfinite(norms).all() and norms.all()):
        return result, "a sentence vector is zero or not finite"
    first, second = normalised(first), normalised(second)
    result["alignment"] = alignment(first[positive], second[positive])
    result["uniformity"] = uniformity(np.concatenate([first, second]))
    return result, ""


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Scale rows to length 1.

    Args:
        vectors: Array of shape (n, width).

    Returns:
        Array of the same shape.
    """
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def alignment(x: np.ndarray, y: np.ndarray) -> float:
    """Compute the alignment loss of positive pairs (Wang and Isola 2020).

    It is the mean squared distance of the pairs (x_i, y_i); lower is better.

    Args:
        x: Array of shape (n, width), rows of length 1.
        y: Array of the same shape.

    Returns:
        The alignment, between 0 and 4.

    Raises:
        ValueError: If rows do not have length 1, or the shapes differ or are empty.

    Examples:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> replicse.alignment(x, x)
        0.0
    """
    _check_normalised(x)
    _check_normalised(y)
    if x.shape != y.shape or not len(x):
        raise ValueError(f"alignment needs pairs; got shapes {x.shape} and {y.shape}")
    return float((np.subtract(x, y, dtype=np.float64) ** 2).sum(axis=1).mean())


def uniformity(x: np.ndarray) -> float:
    """Compute the uniformity loss of vectors (Wang and Isola 2020).

    It is log mean exp(-2 d^2) over all pairs i < j of rows with distance d; lower is better. Equal rows are
    counted as often as they occur. The pairs are processed in blocks, so that there is no n x n matrix in
    memory. The exponents are between -8 and 0, so that the plain sum is stable.

    Args:
        x: Array of shape (n, width), rows of length 1.

    Returns:
        The uniformity, between -8 and 0.

    Raises:
        ValueError: If rows do not have length 1, or there are fewer than two.

    Examples:
        >>> replicse.uniformity(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        -8.0
    """
    _check_normalised(x)
    n = len(x)
    if n < 2:
        raise ValueError(f"uniformity needs two vectors; got {n}")
    total = 0.0
    for start in range(0, n, _BLOCK):
        # d^2 = 2 - 2 cos; a rounding error can move a cosine above 1.
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
        raise ValueError(f"alignment and uniformity require vectors of length 1, not {worst:g}")
