"""Rank correlation and cosine similarity in numpy: importing scipy.stats would cost a job a second."""

import numpy as np


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, (n,) float64; equal values share the mean of their ranks."""
    _, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[groups]


def spearman(left: np.ndarray, right: np.ndarray) -> float | None:
    """Return Spearman's rank correlation in [-1, 1], or None where it is undefined.

    It is undefined for fewer than two values, where one side is constant, and where a value is not finite.
    """
    if len(left) < 2 or not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    return pearson(*(average_ranks(np.asarray(side)) for side in (left, right)))


def pearson(left: np.ndarray, right: np.ndarray) -> float | None:
    """Return Pearson's correlation in [-1, 1], or None where it is undefined: a side is constant or not finite."""
    if len(left) < 2 or not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    # Rounded, the mean of equal values need not be that value.
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    centred = [side - side.mean() for side in (left, right)]
    norm = np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    if norm == 0:
        return None
    return float(np.clip((centred[0] * centred[1]).sum() / norm, -1, 1))


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows, (n,) float64; 0 where a vector is zero (methods 2.1).

    Rounded to 12 decimals, so that pairs of equal vectors tie exactly and are not ranked by rounding errors.
    """
    left, right = left.astype(np.float64), right.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
    dots = np.einsum("ij,ij->i", left, right)
    return np.round(np.divide(dots, norms, out=np.zeros_like(dots), where=norms != 0), 12)
