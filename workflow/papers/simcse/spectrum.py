"""The singular values of the matrix of STS-B sentence vectors (SimCSE, Figure F.1)."""

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
    """Return singular_values, falling and the largest 1, their effective_rank, n_sentences and dimensions.

    The paper says only "sentences in STS-B" and that the largest value is scaled to 1. Rows are brought to
    length 1 first, because its account of the spectrum (section 5, Eq. 7) is of normalised embeddings. They
    are not centred, because the common direction of anisotropic vectors is what the figure shows. All splits
    and repeated sentences count, as for uniformity.
    """
    rows = unit_rows(vectors(list(sentences(root, splits))))
    sizes = {"n_sentences": rows.shape[0], "dimensions": rows.shape[1]}
    reason = _reason(rows)
    if reason:
        failures = {"singular_values": reason, "effective_rank": reason}
        return {**sizes, "singular_values": None, "effective_rank": None, "failures": failures}
    values = singular_values(rows)
    return {**sizes, "singular_values": values.tolist(), "effective_rank": effective_rank(values)}


def singular_values(rows: np.ndarray) -> np.ndarray:
    """Return the singular values of a matrix, falling, divided by the largest."""
    values = np.linalg.svd(rows, compute_uv=False)
    return values / values[0]


def effective_rank(values: np.ndarray) -> float:
    """Return exp(entropy of the values as shares of their sum): n for n equal values, 1 where one dominates.

    Definition of Roy and Vetterli (2007).
    """
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _reason(rows: np.ndarray) -> str:
    if not np.isfinite(rows).all():
        return "a sentence vector is not finite"
    return "" if rows.any() else "all sentence vectors are zero"
