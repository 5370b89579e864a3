"""Token embeddings from co-occurrences, by PPMI and truncated SVD.

PPMI is the positive pointwise mutual information. Without these embeddings, a compact encoder would need many
more hours of masked-LM training on a CPU.
"""

from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from replicse.data.store import TokenColumn, open_store
from replicse.encoder.backbone import Backbone

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WINDOW = 5
SMOOTHING = 0.75  # exponent of the context distribution (Levy, Goldberg and Dagan 2015)
EMBEDDING_RMS = 0.05  # root mean square of a row, slightly more than BERT's initial 0.02


def set_ppmi_embeddings(backbone: Backbone, store: Path, seed: int) -> None:
    """Initialise the embeddings of an encoder from token co-occurrences.

    Embeddings of tokens that do not occur in the store are not changed.

    Args:
        backbone: The encoder.
        store: The folder of the token store.
        seed: The seed of the SVD's start vector.
    """
    table = backbone.input_embeddings
    rows, width = table.shape
    special = set(astuple(backbone.special))
    embeddings = torch.from_numpy(ppmi_embeddings(open_store(store), rows, width, special, seed))
    with torch.no_grad():
        table.copy_(torch.where(embeddings.isnan(), table, embeddings))


def ppmi_embeddings(
    column: TokenColumn, vocabulary: int, hidden: int, special: set[int], seed: int
) -> np.ndarray:
    """Compute token embeddings from a truncated SVD of the PPMI matrix.

    Args:
        column: The rows of token ids.
        vocabulary: The number of tokens.
        hidden: The size of an embedding.
        special: The ids of special tokens, which are not counted.
        seed: The seed of the SVD's start vector.

    Returns:
        The embeddings, (vocabulary, hidden), float32; NaN for tokens that never occur.
    """
    from scipy.sparse.linalg import svds

    matrix = _compute_ppmi(_count_pairs(column, vocabulary, special))
    start = np.random.default_rng(seed).standard_normal(vocabulary)
    left, values, _ = svds(matrix, k=hidden, v0=start)
    vectors = (left * np.sqrt(values)).astype(np.float32)
    used = np.diff(matrix.tocsr().indptr) > 0
    vectors *= EMBEDDING_RMS / np.sqrt((vectors[used] ** 2).mean())
    vectors[~used] = np.nan
    return vectors


def _count_pairs(column: TokenColumn, vocabulary: int, special: set[int]) -> "csr_matrix":
    """Count token pairs at most WINDOW apart within a row, symmetrically."""
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


def _compute_ppmi(counts: "csr_matrix") -> "csr_matrix":
    """Compute the PPMI of token pairs with a smoothed p(context)."""
    total = counts.sum()
    occurrences = np.asarray(counts.sum(axis=1)).ravel()
    context = occurrences**SMOOTHING
    context = context / context.sum()
    pairs = counts.tocoo()
    # PPMI is max(0, log(p(token, context) / (p(token) p(context)))).
    information = (
        np.log(pairs.data / total) - np.log(occurrences[pairs.row] / total) - np.log(context[pairs.col])
    )
    pairs.data = np.maximum(information, 0)
    result = pairs.tocsr()
    result.eliminate_zeros()
    return result
