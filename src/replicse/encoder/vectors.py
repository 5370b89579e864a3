"""Encoders that are any function of sentences."""

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
import torch

from replicse.errors import BadInput, one_line

QUANTISATIONS = ("int8", "binary")


class CallableVectors:
    """An encoder that calls a function from strings to vectors.

    Each distinct sentence is encoded once.

    Args:
        encode: A function from a list of n strings to an array of shape (n, width).
    """

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        self._encode = encode
        # One array instead of an array for each sentence, which would need more memory than a short vector. It has more
        # rows than sentences after a second call of `prepare`.
        self._places: dict[str, int] = {}
        self._vectors = np.empty((0, 0), dtype=np.float32)

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences in their order.

        Args:
            sentences: A list of n sentences.

        Returns:
            The vectors, (n, width), float32.
        """
        self.prepare(sentences)
        return self._vectors[np.array([self._places[sentence] for sentence in sentences], dtype=np.intp)]

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences without a cached vector.

        Args:
            sentences: The sentences; repeated sentences are encoded once.

        Raises:
            BadInput: If the function does not return one vector of numbers for each sentence.
        """
        distinct = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._places]
        if not distinct:
            return
        vectors = to_array(self._encode(distinct))
        if vectors.ndim != 2 or len(vectors) != len(distinct) or vectors.dtype.kind not in "fiu":
            raise BadInput(
                f"encoder: the vectors of {len(distinct)} sentences have shape {vectors.shape} and dtype"
                f" {vectors.dtype}; expected numbers of shape ({len(distinct)}, width)"
            )
        vectors = vectors.astype(np.float32, copy=False)
        if self._places and vectors.shape[1] != self._vectors.shape[1]:
            raise BadInput(
                f"encoder: the vectors have width {vectors.shape[1]}, but earlier ones {self._vectors.shape[1]}; return"
                " vectors of one width"
            )
        self._append(vectors)
        self._places.update(zip(distinct, count(len(self._places)), strict=False))

    def _append(self, vectors: np.ndarray) -> None:
        """Append vectors to the array; double the rows of a full array."""
        used = len(self._places)
        rows = used + len(vectors)
        if not used:
            self._vectors = vectors
            return
        if rows > len(self._vectors):
            larger = np.empty((max(rows, 2 * len(self._vectors)), vectors.shape[1]), dtype=np.float32)
            larger[:used] = self._vectors[:used]
            self._vectors = larger
        self._vectors[used:rows] = vectors

    def clear(self) -> None:
        """Clear cached vectors."""
        self._places.clear()
        self._vectors = np.empty((0, 0), dtype=np.float32)


class CompressedVectors:
    """The first dimensions of an encoder's vectors, or quantised vectors.

    Matryoshka encoders are trained for the first, and a search index stores the second. `int8` has 256 steps between
    the lowest and the highest value of each dimension over all sentences of the suites; `binary` has the signs. By
    default, the first dimensions are not quantised.

    Args:
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        width: The number of dimensions.
        quantisation: One of `QUANTISATIONS`. Default: an empty string, no quantisation.
    """

    def __init__(self, vectors: Any, width: int, quantisation: str = "") -> None:
        self.vectors, self.width, self.quantisation = vectors, width, quantisation
        self._ranges: np.ndarray | None = None

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences in their order.

        Args:
            sentences: A list of n sentences.

        Returns:
            The vectors, (n, width), float32.
        """
        vectors: np.ndarray = self.vectors(sentences)[:, : self.width]
        if self.quantisation == "int8":
            from sentence_transformers import quantize_embeddings

            quantised = quantize_embeddings(vectors, "int8", ranges=self._ranges)
            return np.asarray(quantised, dtype=np.float32)
        if self.quantisation == "binary":
            return np.where(vectors > 0, np.float32(1), np.float32(-1))
        return vectors

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences without a cached vector, and find the ranges.

        Args:
            sentences: The sentences; repeated sentences are encoded once.
        """
        distinct = list(dict.fromkeys(sentences))
        self.vectors.prepare(distinct)
        if self.quantisation == "int8" and distinct:
            vectors = self.vectors(distinct)[:, : self.width]
            self._ranges = np.stack([vectors.min(axis=0), vectors.max(axis=0)])

    def clear(self) -> None:
        """Clear cached vectors."""
        self.vectors.clear()


def to_array(vectors: Any) -> np.ndarray:
    """Convert the result of a function to one array.

    Args:
        vectors: An array, a tensor of any dtype and device, or a list of them.

    Returns:
        The array.

    Raises:
        BadInput: If the vectors cannot form one array, such as lists of unequal length.
    """
    try:
        if isinstance(vectors, list | tuple):
            return np.asarray([_to_numpy(vector) for vector in vectors])
        return np.asarray(_to_numpy(vectors))
    except (ValueError, TypeError, RuntimeError) as error:
        raise BadInput(
            f"encoder: the vectors do not form an array ({one_line(error)}); return numbers of shape"
            " (sentences, width)"
        ) from None


def _to_numpy(value: Any) -> Any:
    """Convert a tensor to an array; return other values unchanged."""
    # NumPy has no bfloat16, and no view of a tensor that requires a gradient.
    return value.detach().float().cpu().numpy() if torch.is_tensor(value) else value
