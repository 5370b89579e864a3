"""Recall of paraphrases in STS-B (DiffCSE, section 6.2, Table 10).

A query is a sentence of a pair with a score of exactly 5.0, the mate is the other sentence, and the corpus is all 2,758
sentences of the test set. The paper states neither the direction nor how repeated sentences are treated (methods 4.3),
so both directions are reported, with and without repetitions.
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
    """Yield all sentences of the corpus, with repetitions."""
    first, second, _ = _test_pairs(root)
    yield from first + second


def evaluate(root: Path, vectors: Vectors) -> dict[str, Any]:
    """Compute recalls by corpus and direction.

    In the corpus `all`, repeated sentences are different places, and only the place of the query is excluded: a copy
    of the query may rank before the mate. In `distinct`, each text has one place, and pairs of equal texts are not
    queries. Queries are the first sentences of pairs in the direction `forward`, the second in `backward`, and all in
    `both`.

    Args:
        root: the folder of the evaluation sets.
        vectors: the encoder.

    Returns:
        `at1`, `at5` and `at10` (x 100), the number of queries `n` and the size of the `corpus`, by corpus and
        direction. Undefined recalls are None, with reasons in `failures`.
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
            reason = "a sentence vector is not finite" if numbers["n"] else "no queries"
            undefined = [cutoff for cutoff in CUTOFFS if numbers[cutoff] is None]
            failures |= {f"{corpus}/{direction}/{cutoff}": reason for cutoff in undefined}
    return {**recalls, "failures": failures} if failures else recalls


def _test_pairs(root: Path) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    (subset,) = load_sts(root, "STS-B", "test")
    return subset.first, subset.second, subset.gold


def _recalls(rows: np.ndarray, text_of: np.ndarray, pairs: np.ndarray) -> dict[str, Any]:
    """Return recalls by direction.

    Args:
        rows: vectors of distinct texts, (texts, width).
        text_of: the row of each place of the corpus, (places,).
        pairs: places of the sentences of each pair, (pairs, 2).
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
    """Return the rank of each query's mate among other places, (queries,).

    The nearest place of the corpus has rank 1, and the place of the query is excluded. Ties rank in the order of the
    corpus.
    """
    cosines = cosine_matrix(rows[text_of[queries]], rows)[:, text_of]
    numbers = np.arange(len(queries))
    cosines[numbers, queries] = -np.inf
    mate_cosines = cosines[numbers, mates][:, None]
    is_earlier = np.arange(len(text_of)) < mates[:, None]
    return 1 + ((cosines > mate_cosines) | ((cosines == mate_cosines) & is_earlier)).sum(axis=1)
