"""Correlations and cosine similarity in numpy.

Importing scipy.stats would take a second per job.
"""

import numpy as np


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Compute ranks from 1; equal values get the mean of their ranks.

    Args:
        values: Array of shape (n,).

    Returns:
        Float64 array of shape (n,).
    """
    _, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[groups]


def spearman(left: np.ndarray, right: np.ndarray) -> float | None:
    """Compute Spearman's rank correlation.

    Args:
        left: Array of shape (n,).
        right: Array of shape (n,).

    Returns:
        The correlation in [-1, 1]. None if it is undefined: for fewer than two values, if all values of an
        array are equal, or if a value is not finite.
    """
    if len(left) < 2 or not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    return pearson(average_ranks(np.asarray(left)), average_ranks(np.asarray(right)))


def pearson(left: np.ndarray, right: np.ndarray) -> float | None:
    """Compute Pearson's correlation.

    Args:
        left: Array of shape (n,).
        right: Array of shape (n,).

    Returns:
        The correlation in [-1, 1]. None if it is undefined: for fewer than two values, if all values of an
        array are equal, or if a value is not finite.
    """
    if len(left) < 2 or not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    # Compare values, not deviations: the mean of equal values can differ from them by a rounding error.
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    left, right = left - left.mean(), right - right.mean()
    norm = np.sqrt((left**2).sum() * (right**2).sum())
    if norm == 0:
        return None
    return float(np.clip((left * right).sum() / norm, -1, 1))


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute the cosine of each pair of rows.

    Cosines are rounded to 12 decimals, so that pairs of equal vectors tie exactly and are not ranked by
    rounding errors (methods 2.1).

    Args:
        left: Array of shape (n, width).
        right: Array of shape (n, width).

    Returns:
        Float64 array of shape (n,). The cosine of a zero vector is 0.
    """
    left, right = left.astype(np.float64), right.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
    dots = np.einsum("ij,ij->i", left, right)
    return np.round(np.divide(dots, norms, out=np.zeros_like(dots), where=norms != 0), 12)
