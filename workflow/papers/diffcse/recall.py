"""Recall of paraphrases in STS-B (DiffCSE, section 6.2, Table 10).

A query is a sentence of a pair with a score of exactly 5.0, the mate is the other sentence of the pair, and the corpus
is all 2,758 sentences of the test set. The paper specifies neither the direction nor the treatment of repeated
sentences (methods 4.3), so both directions are reported, with and without repetitions.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.sts import load_sts
from replicse.evaluation.neighbours import cosine_matrix, unit_rows
from replicse.evaluation.suites import Vectors

from .method import CUTOFFS

PERFECT = 5.0


def sentences(root: Path) -> Iterator[str]:
    """Yield all sentences of the STS-B test set, with repetitions.

    Args:
        root: The folder of the evaluation datasets.
    """
    first, second, _ = _test_pairs(root)
    yield from first + second


def evaluate(root: Path, vectors: Vectors) -> dict[str, Any]:
    """Compute recalls by corpus and direction.

    The corpus `all` contains repeated sentences several times. Only the query itself is excluded from the results, so a
    copy of the query may rank before the mate. The corpus `distinct` contains each sentence once, and pairs of equal
    sentences are skipped. In the direction `forward` the first sentence of each pair is the query, in `backward` the
    second, in `both` each of them.

    Args:
        root: The folder of the evaluation datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).

    Returns:
        A dict by corpus and direction, such as `["all"]["both"]`, of dicts with the recalls `at1`, `at5` and `at10`
        (x 100), the number of queries `n` and the size of the `corpus`. Undefined recalls are None, with reasons in
        `failures`.
    """
    first, second, gold = _test_pairs(root)
    texts = first + second
    distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    text_of = np.array([distinct[text] for text in texts])
    rows = unit_rows(vectors(list(distinct)))
    perfect = np.flatnonzero(gold == PERFECT)
    pairs = np.stack([perfect, perfect + len(first)], axis=1)
    text_pairs = text_of[pairs]
    text_pairs = text_pairs[text_pairs[:, 0] != text_pairs[:, 1]]
    recalls = {
        "all": _recalls(rows, text_of, pairs),
        "distinct": _recalls(rows, np.arange(len(distinct)), text_pairs),
    }
    failures: dict[str, str] = {}
    for corpus, directions in recalls.items():
        for direction, numbers in directions.items():
            reason = (
                "a sentence vector is not finite" if numbers["n"] else "the dataset does not contain queries"
            )
            undefined = [cutoff for cutoff in CUTOFFS if numbers[cutoff] is None]
            failures |= {f"{corpus}/{direction}/{cutoff}": reason for cutoff in undefined}
    return {**recalls, "failures": failures} if failures else recalls


def _test_pairs(root: Path) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    (subset,) = load_sts(root, "STS-B", "test")
    return subset.first, subset.second, subset.gold


def _recalls(rows: np.ndarray, text_of: np.ndarray, pairs: np.ndarray) -> dict[str, Any]:
    """Return recalls by direction.

    Args:
        rows: Unit vectors of distinct sentences, (distinct, width).
        text_of: The row of each sentence of the corpus, (corpus,).
        pairs: Indices of the two sentences of each pair in the corpus, (pairs, 2).
    """
    forward = mate_ranks(rows, text_of, pairs[:, 0], pairs[:, 1])
    backward = mate_ranks(rows, text_of, pairs[:, 1], pairs[:, 0])
    directions = {"forward": forward, "backward": backward, "both": np.concatenate([forward, backward])}
    is_finite = bool(np.isfinite(rows).all())
    recalls: dict[str, Any] = {}
    for direction, ranks in directions.items():
        numbers: dict[str, Any] = dict.fromkeys(CUTOFFS)
        if is_finite and len(ranks):
            for cutoff, most in CUTOFFS.items():
                numbers[cutoff] = 100 * float((ranks <= most).mean())
        recalls[direction] = {**numbers, "n": len(ranks), "corpus": len(text_of)}
    return recalls


def mate_ranks(rows: np.ndarray, text_of: np.ndarray, queries: np.ndarray, mates: np.ndarray) -> np.ndarray:
    """Return the rank of each query's mate in the corpus without the query.

    The nearest sentence has rank 1. Equally similar sentences are ranked in the order of the corpus.

    Args:
        rows: Unit vectors of distinct sentences, (distinct, width).
        text_of: The row of each sentence of the corpus, (corpus,).
        queries: Indices of the queries in the corpus, (queries,).
        mates: Indices of the mates in the corpus, (queries,).

    Returns:
        The ranks, 1-based, (queries,).
    """
    cosines = cosine_matrix(rows[text_of[queries]], rows)[:, text_of]
    numbers = np.arange(len(queries))
    cosines[numbers, queries] = -np.inf
    mate_cosines = cosines[numbers, mates][:, None]
    is_earlier = np.arange(len(text_of)) < mates[:, None]
    return 1 + ((cosines > mate_cosines) | ((cosines == mate_cosines) & is_earlier)).sum(axis=1)
