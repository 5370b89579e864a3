"""Cosines and gold scores of test pairs, encoded as strings."""

import base64

import numpy as np

SINGLE, DOUBLE = np.dtype("<f4"), np.dtype("<f8")
MARK = "f8:"  # prefix of 64-bit numbers


def pack_pairs(cosines: np.ndarray, gold: np.ndarray) -> dict[str, str]:
    """Encode cosines and gold scores as base64 strings.

    Numbers have 32 bits. A side has 64 bits if different numbers would become equal, because a score depends on their
    ranks.

    Args:
        cosines: the cosine of each pair, (pairs,).
        gold: the gold score of each pair, (pairs,).

    Returns:
        Dict with the strings `cosine` and `gold`.
    """
    return {"cosine": _pack_side(cosines), "gold": _pack_side(gold)}


def unpack_side(text: str) -> np.ndarray:
    """Decode the string of one side to numbers, (pairs,) float64."""
    kind = DOUBLE if text.startswith(MARK) else SINGLE
    content = base64.b64decode(text.removeprefix(MARK))
    return np.frombuffer(content, dtype=kind).astype(np.float64)


def _pack_side(numbers: np.ndarray) -> str:
    exact, single = np.asarray(numbers, dtype=DOUBLE), np.asarray(numbers, dtype=SINGLE)
    if len(np.unique(single)) == len(np.unique(exact)):
        return base64.b64encode(single.tobytes()).decode("ascii")
    return MARK + base64.b64encode(exact.tobytes()).decode("ascii")
