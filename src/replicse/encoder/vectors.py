"""Vectors of any function of sentences."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from replicse.errors import BadInput


class CallableVectors:
    """Vectors of any function from a list of sentences to an array (n, width); each distinct sentence once."""

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        self._encode = encode
        self._vectors: dict[str, np.ndarray] = {}

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return float32 vectors (n, width) in the order of the sentences."""
        self.prepare(sentences)
        return np.stack([self._vectors[sentence] for sentence in sentences])

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences that have no vector yet; BadInput where the function gives no vector a sentence."""
        distinct = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._vectors]
        if not distinct:
            return
        vectors = np.asarray(self._encode(distinct))
        if vectors.ndim != 2 or len(vectors) != len(distinct) or vectors.dtype.kind not in "fiu":
            raise BadInput(
                f"encoder: {len(distinct)} sentences became an array of shape {vectors.shape} of {vectors.dtype};"
                f" expected numbers of shape ({len(distinct)}, width)"
            )
        self._vectors.update(zip(distinct, vectors.astype(np.float32), strict=True))

    def clear(self) -> None:
        """Drop all vectors."""
        self._vectors.clear()
