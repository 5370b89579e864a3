"""Token embeddings from co-occurrence: positive pointwise mutual information and a truncated SVD.

They give a compact encoder a start that masked-LM training alone would need many hours to reach on a CPU.
"""

from typing import TYPE_CHECKING

import numpy as np

from replicse.data.store import TokenColumn

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WINDOW = 5
SMOOTHING = 0.75  # exponent of the context distribution (Levy, Goldberg and Dagan 2015)
EMBEDDING_RMS = 0.05  # root mean square of a row, a little above BERT's initial 0.02


def ppmi_embeddings(
    column: TokenColumn, vocabulary: int, hidden: int, special: set[int], seed: int
) -> np.ndarray:
    """Return (vocabulary, hidden) float32 embeddings; rows of tokens that never occur are NaN."""
    from scipy.sparse.linalg import svds

    matrix = _ppmi(_cooccurrence(column, vocabulary, special))
    start = np.random.default_rng(seed).standard_normal(vocabulary)
    left, values, _ = svds(matrix, k=hidden, v0=start)
    vectors = (left * np.sqrt(values)).astype(np.float32)
    used = np.diff(matrix.tocsr().indptr) > 0
    vectors *= EMBEDDING_RMS / np.sqrt((vectors[used] ** 2).mean())
    vectors[~used] = np.nan
    return vectors


def _cooccurrence(column: TokenColumn, vocabulary: int, special: set[int]) -> "csr_matrix":
    """Return the symmetric counts of token pairs at most WINDOW apart within one row."""
    from scipy.sparse import coo_matrix, csr_matrix

    tokens = np.asarray(column.tokens)
    rows = np.repeat(np.arange(len(column)), np.diff(column.offsets))
    ordinary = ~np.isin(tokens, list(special))
    counts = csr_matrix((vocabulary, vocabulary), dtype=np.float64)
    for distance in range(1, WINDOW + 1):
        near = (rows[distance:] == rows[:-distance]) & ordinary[distance:] & ordinary[:-distance]
        pairs = (np.ones(int(near.sum())), (tokens[:-distance][near], tokens[distance:][near]))
        counts = counts + coo_matrix(pairs, shape=(vocabulary, vocabulary)).tocsr()
    return counts + counts.T


def _ppmi(counts: "csr_matrix") -> "csr_matrix":
    total = counts.sum()
    occurrences = np.asarray(counts.sum(axis=1)).ravel()
    context = occurrences**SMOOTHING
    context = context / context.sum()
    pairs = counts.tocoo()
    information = (
        np.log(pairs.data / total) - np.log(occurrences[pairs.row] / total) - np.log(context[pairs.col])
    )
    pairs.data = np.maximum(information, 0)
    result = pairs.tocsr()
    result.eliminate_zeros()
    return result
