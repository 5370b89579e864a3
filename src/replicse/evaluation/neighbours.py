"""Nearest neighbours of vectors among the rows of a corpus."""

from collections.abc import Sequence

import numpy as np

from replicse.evaluation.suites import Vectors

CHUNK = 8192


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Scale rows to length 1.

    A row of zeros stays zero, so that the cosine with any row is 0. A row that is not finite becomes NaN, in
    part or entirely.

    Args:
        vectors: Array of shape (n, width).

    Returns:
        Float64 array of the same shape.
    """
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths != 0)


def cosine_matrix(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute the cosines of all pairs of unit rows.

    They are rounded to 12 decimals, so that equal vectors tie.

    Args:
        left: Array of shape (n, width).
        right: Array of shape (m, width).

    Returns:
        Array of shape (n, m).
    """
    return np.round(left @ right.T, 12)


def neighbours(
    vectors: Vectors, queries: Sequence[str], corpus: Sequence[str], count: int = 3
) -> list[list[tuple[str, float]]]:
    """Find the nearest sentences of a corpus for each query.

    The text of the query is skipped, and a repeated text of the corpus is returned once. Equally similar
    sentences are in the order of the corpus. The corpus is encoded CHUNK sentences at a time.

    Args:
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        queries: A list of queries.
        corpus: A list of the sentences of the corpus.
        count: The number of sentences per query. Default: 3.

    Returns:
        For each query a list of (sentence, cosine), the nearest first.
    """
    if not queries:
        return []
    query_rows = unit_rows(vectors(queries))
    texts = list(dict.fromkeys(corpus))
    indices = np.zeros((len(queries), 0), dtype=np.int64)
    best = np.zeros((len(queries), 0))
    for start in range(0, len(texts), CHUNK):
        block = texts[start : start + CHUNK]
        cosines = cosine_matrix(query_rows, unit_rows(vectors(block)))
        for row, query in zip(cosines, queries, strict=True):
            row[[place for place, text in enumerate(block) if text == query]] = -np.inf
        places = np.broadcast_to(np.arange(start, start + len(block)), cosines.shape)
        indices, best = np.hstack([indices, places]), np.hstack([best, cosines])
        order = np.argsort(-best, axis=1, kind="stable")[:, :count]
        indices, best = np.take_along_axis(indices, order, 1), np.take_along_axis(best, order, 1)
    found = []
    for places, cosines in zip(indices, best, strict=True):
        pairs = zip(places, cosines, strict=True)
        found.append([(texts[place], float(cosine)) for place, cosine in pairs if cosine > -np.inf])
    return found
