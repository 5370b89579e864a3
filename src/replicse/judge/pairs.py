"""Cosines of test pairs as an evaluation keeps them."""

import base64

import numpy as np

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
