"""Cosines of test pairs as an evaluation keeps them, and what can be said of two encoders on the same pairs."""

import base64
from collections.abc import Mapping

import numpy as np

from replicse.evaluation.bootstrap import Estimate, spearman_difference

KIND = np.dtype("<f4")


def packed_pairs(cosines: np.ndarray, gold: np.ndarray) -> dict[str, str]:
    """Return cosines and gold scores as base64 text of 32-bit floats, small enough for a JSON."""
    return {
        name: base64.b64encode(np.asarray(side, dtype=KIND).tobytes()).decode("ascii")
        for name, side in (("cosine", cosines), ("gold", gold))
    }


def unpacked(text: str) -> np.ndarray:
    """Return the numbers of one side, (pairs,) float64."""
    return np.frombuffer(base64.b64decode(text), dtype=KIND).astype(np.float64)


def difference_over_pairs(first: Mapping[str, str], second: Mapping[str, str]) -> Estimate | None:
    """Return Spearman (x 100) of the first less the second encoder with its interval over the same pairs.

    None where a side is constant, or where the two were not rated on the same pairs.
    """
    if first["gold"] != second["gold"]:
        return None
    difference = spearman_difference(
        unpacked(first["cosine"]), unpacked(second["cosine"]), unpacked(first["gold"])
    )
    return difference and Estimate(100 * difference.value, 100 * difference.low, 100 * difference.high)
