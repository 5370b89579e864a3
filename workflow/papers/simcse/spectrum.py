"""The singular values of STS-B sentence vectors (SimCSE, Figure F.1)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.evaluation import geometry
from replicse.evaluation.geometry import SPLITS
from replicse.evaluation.neighbours import unit_rows
from replicse.evaluation.suites import Vectors

sentences = geometry.sentences


def evaluate(root: Path, vectors: Vectors, splits: Sequence[str] = SPLITS) -> dict[str, Any]:
    """Compute the spectrum of sentence vectors.

    The paper only specifies "sentences in STS-B" and a largest value of 1. Vectors are normalised, because the paper
    analyses the spectrum of normalised embeddings (section 5, Eq. 7). They are not centred, because the figure should
    show the common direction of anisotropic vectors. All splits are used, and repeated sentences are kept, as for
    uniformity.

    Args:
        root: The folder of the evaluation datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        splits: The splits of STS-B. Default: train, dev and test.

    Returns:
        A dict with the list `singular_values` in descending order, scaled to a maximum of 1, the `effective_rank`,
        `n_sentences` and `dimensions`. Undefined values are None, with reasons in `failures`.
    """
    rows = unit_rows(vectors(list(sentences(root, splits))))
    sizes = {"n_sentences": rows.shape[0], "dimensions": rows.shape[1]}
    reason = _explain_undefined(rows)
    if reason:
        failures = {"singular_values": reason, "effective_rank": reason}
        return {**sizes, "singular_values": None, "effective_rank": None, "failures": failures}
    values = singular_values(rows)
    return {**sizes, "singular_values": values.tolist(), "effective_rank": effective_rank(values)}


def singular_values(rows: np.ndarray) -> np.ndarray:
    """Compute singular values, divided by the largest.

    Args:
        rows: A matrix that is not zero, (n, width).

    Returns:
        The values in descending order, (min(n, width),).
    """
    values = np.linalg.svd(rows, compute_uv=False)
    return values / values[0]


def effective_rank(values: np.ndarray) -> float:
    """Compute the effective rank of a matrix from the singular values.

    The singular values are divided by their sum; the effective rank is exp(entropy) of this distribution (Roy and
    Vetterli, 2007). It is n for n equal values, and close to 1 if a single value dominates.

    Args:
        values: The singular values, in any scale, (n,).
    """
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _explain_undefined(rows: np.ndarray) -> str:
    """Return why the spectrum is undefined; an empty string if it is not."""
    if not np.isfinite(rows).all():
        return "a sentence vector is not finite"
    return "" if rows.any() else "all sentence vectors are zero"
