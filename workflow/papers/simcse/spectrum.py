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

    The paper mentions only "sentences in STS-B" and a largest value of 1. Vectors are normalised, because
    the analysis of the spectrum in the paper (section 5, Eq. 7) is for normalised embeddings. They are not centred,
    because the figure shows the common direction of anisotropic vectors. All splits and repeated sentences are used, as
    for uniformity.

    Args:
        root: the folder of the evaluation sets.
        vectors: the encoder.
        splits: the splits of STS-B.

    Returns:
        `singular_values` in descending order, scaled to a maximum of 1, their `effective_rank`, `n_sentences` and
        `dimensions`. Undefined values are None, with reasons in `failures`.
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
    """Return the singular values of a matrix, divided by the largest.

    They are in descending order.
    """
    values = np.linalg.svd(rows, compute_uv=False)
    return values / values[0]


def effective_rank(values: np.ndarray) -> float:
    """Return the effective rank of a matrix with some singular values.

    It is exp(entropy of the values divided by their sum), as defined by Roy and Vetterli (2007). It is n for n equal
    values, and close to 1 if one value dominates.
    """
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _explain_undefined(rows: np.ndarray) -> str:
    """Return why the spectrum is undefined, or an empty string."""
    if not np.isfinite(rows).all():
        return "a sentence vector is not finite"
    return "" if rows.any() else "all sentence vectors are zero"
