"""Recall of paraphrases: does a sentence find its mate among all others? (DiffCSE, section 6.2, Table 10)

Among the 2,758 sentences of the STS-B test set a query is one side of a pair scored exactly 5.0, its mate the other
side. The paper states neither the direction nor what becomes of repeated sentences (methods 4.3), so both directions
are reported, each with and without repetitions.
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
    """Yield every sentence of the corpus, repetitions included."""
    first, second, _ = _test_pairs(root)
    yield from first + second


def evaluate(root: Path, vectors: Vectors) -> dict[str, Any]:
    """Return recalls at1, at5 and at10 (x 100), n queries and the size of the corpus by corpus and direction.

    In `all` every sentence has a place of its own, and only the query's own place is left out: a copy of the query
    elsewhere may outrank the mate. In `distinct` a text has one place, and pairs of equal texts are no queries.
    `forward` asks with the first sentence of a pair, `backward` with the second, `both` with either.
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
    failures = {
        f"{corpus}/{direction}/{cutoff}": "a sentence vector is not finite" if numbers["n"] else "no queries"
        for corpus, directions in recalls.items()
        for direction, numbers in directions.items()
        for cutoff in CUTOFFS
        if numbers[cutoff] is None
    }
    return {**recalls, "failures": failures} if failures else recalls


def _test_pairs(root: Path) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    (subset,) = load_sts(root, "STS-B", "test")
    return subset.first, subset.second, subset.gold


def _recalls(rows: np.ndarray, text_of: np.ndarray, pairs: np.ndarray) -> dict[str, Any]:
    """Return recalls by direction; `text_of` maps the places of the corpus to `rows`, `pairs` are places."""
    ranks = [mate_ranks(rows, text_of, asked, mates) for asked, mates in (pairs.T, pairs.T[::-1])]
    finite = bool(np.isfinite(rows).all())
    directions = {"forward": ranks[0], "backward": ranks[1], "both": np.concatenate(ranks)}
    return {
        name: {
            **{
                cutoff: 100 * float((of_mates <= most).mean()) if finite and len(of_mates) else None
                for cutoff, most in CUTOFFS.items()
            },
            "n": len(of_mates),
            "corpus": len(text_of),
        }
        for name, of_mates in directions.items()
    }


def mate_ranks(rows: np.ndarray, text_of: np.ndarray, queries: np.ndarray, mates: np.ndarray) -> np.ndarray:
    """Return the rank (from 1) of each query's mate among all other places of the corpus, nearest first.

    Equally near places rank in the order of the corpus.
    """
    cosines = cosine_matrix(rows[text_of[queries]], rows)[:, text_of]
    asked = np.arange(len(queries))
    cosines[asked, queries] = -np.inf
    of_mates = cosines[asked, mates][:, None]
    before = np.arange(len(text_of)) < mates[:, None]
    return 1 + ((cosines > of_mates) | ((cosines == of_mates) & before)).sum(axis=1)
