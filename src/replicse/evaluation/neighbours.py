"""Rows of length 1 and the rows of a corpus that are nearest to them."""

from collections.abc import Sequence

import numpy as np

from replicse.evaluation.suites import Vectors

CHUNK = 8192


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return float64 rows of length 1; a row of zeros stays one, so that its cosine with anything is 0.

    A row that is not finite becomes, wholly or in part, undefined.
    """
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths != 0)


def cosine_matrix(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs of unit rows, rounded to 12 decimals so that equal vectors tie."""
    return np.round(left @ right.T, 12)


def neighbours(
    vectors: Vectors, queries: Sequence[str], corpus: Sequence[str], count: int = 3
) -> list[list[tuple[str, float]]]:
    """Return for each query the `count` nearest sentences of the corpus with their cosines, best first.

    The query's own text is left out, and a text that the corpus repeats is found once; equally near ones are
    in the order of the corpus. The corpus is read CHUNK sentences at a time.
    """
    if not queries:
        return []
    asked = unit_rows(vectors(queries))
    texts = list(dict.fromkeys(corpus))
    indices = np.zeros((len(queries), 0), dtype=np.int64)
    best = np.zeros((len(queries), 0))
    for start in range(0, len(texts), CHUNK):
        block = texts[start : start + CHUNK]
        cosines = cosine_matrix(asked, unit_rows(vectors(block)))
        for row, query in zip(cosines, queries, strict=True):
            row[[place for place, text in enumerate(block) if text == query]] = -np.inf
        places = np.broadcast_to(np.arange(start, start + len(block)), cosines.shape)
        indices, best = np.hstack([indices, places]), np.hstack([best, cosines])
        order = np.argsort(-best, axis=1, kind="stable")[:, :count]
        indices, best = np.take_along_axis(indices, order, 1), np.take_along_axis(best, order, 1)
    return [
        [(texts[place], float(cosine)) for place, cosine in zip(*pair, strict=True) if cosine > -np.inf]
        for pair in zip(indices, best, strict=True)
    ]
