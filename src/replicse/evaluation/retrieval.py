"""Retrieval: does a sentence find its paraphrase, and what are a query's nearest neighbours?

DiffCSE (section 6.2, Table 10) retrieves among the 2,758 sentences of the STS-B test set: a query is one side
of a pair scored exactly 5.0, its mate the other side. The paper states neither the direction nor what becomes
of repeated sentences (methods 4.3), so both directions are reported, each with and without repetitions.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.corpora import read_corpus
from replicse.data.sts import load_sts
from replicse.evaluation.neighbours import cosine_matrix, neighbours, unit_rows
from replicse.evaluation.suites import Vectors

PERFECT = 5.0
CUTOFFS = (1, 5, 10)


def sentences(
    root: Path,
    queries: Mapping[str, str] | None = None,
    corpus: Mapping[str, Any] | None = None,
    count: int = 3,
) -> Iterator[str]:
    """Yield every sentence that `evaluate` asks for with these options."""
    first, second, _ = _test_pairs(root)
    yield from first + second
    yield from (queries or {}).values()
    if queries and corpus:
        yield from _captions(root, corpus)


def evaluate(
    root: Path,
    vectors: Vectors,
    queries: Mapping[str, str] | None = None,
    corpus: Mapping[str, Any] | None = None,
    count: int = 3,
) -> dict[str, Any]:
    """Return recall@1, recall@5 and recall@10 (x 100) by direction, and the neighbours of the named `queries`.

    `forward` asks with the first sentence of a pair, `backward` with the second, `both` with either. There
    the corpus has a place for every sentence, and the query's own place is left out: a copy of the query
    elsewhere may outrank the mate. In `forward-distinct` and so on a text has one place, and pairs of equal
    texts are no queries. `corpus` is a recipe of `read_corpus` with a column `text` (SimCSE Table 8: captions
    of Flickr30k); without it the neighbours come from the STS-B test set (DiffCSE Table 9).
    """
    first, second, gold = _test_pairs(root)
    texts = first + second
    distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    text_of = np.array([distinct[text] for text in texts])
    rows = unit_rows(vectors(list(distinct)))
    pairs = np.flatnonzero(gold == PERFECT)
    pairs = np.stack([pairs, pairs + len(first)], axis=1)
    text_pairs = text_of[pairs]
    text_pairs = text_pairs[text_pairs[:, 0] != text_pairs[:, 1]]
    found: dict[str, Any] = _recalls(rows, text_of, pairs, "")
    found |= _recalls(rows, np.arange(len(distinct)), text_pairs, "-distinct")
    failures = {
        f"{name}/recall@{cutoff}": "a sentence vector is not finite" if numbers["n_queries"] else "no queries"
        for name, numbers in found.items()
        for cutoff in CUTOFFS
        if numbers[f"recall@{cutoff}"] is None
    }
    if queries:
        among = _captions(root, corpus) if corpus else texts
        texts_asked = list(queries.values())
        nearest = zip(queries.items(), neighbours(vectors, texts_asked, among, count), strict=True)
        found["neighbours"] = {
            name: {"query": query}
            | {str(rank): {"sentence": text, "cosine": cosine} for rank, (text, cosine) in enumerate(some, 1)}
            for (name, query), some in nearest
        }
    return {**found, "failures": failures} if failures else found


def _test_pairs(root: Path) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    (subset,) = load_sts(root, "STS-B", "test")
    return subset.first, subset.second, subset.gold


def _captions(root: Path, corpus: Mapping[str, Any]) -> list[str]:
    return read_corpus(root, corpus)["text"]


def _recalls(rows: np.ndarray, text_of: np.ndarray, pairs: np.ndarray, suffix: str) -> dict[str, Any]:
    """Return recalls by direction; `text_of` maps the places of the corpus to `rows`, `pairs` are places."""
    ranks = [mate_ranks(rows, text_of, asked, mates) for asked, mates in (pairs.T, pairs.T[::-1])]
    finite = bool(np.isfinite(rows).all())
    directions = {"forward": ranks[0], "backward": ranks[1], "both": np.concatenate(ranks)}
    return {
        f"{name}{suffix}": {
            **{
                f"recall@{cutoff}": 100 * float((of_mates <= cutoff).mean())
                if finite and len(of_mates)
                else None
                for cutoff in CUTOFFS
            },
            "n_queries": len(of_mates),
            "n_corpus": len(text_of),
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
