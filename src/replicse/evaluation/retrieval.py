"""Retrieval by example: the nearest neighbours of named queries (SimCSE Table 8, DiffCSE Table 9)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.data.corpora import read_corpus
from replicse.errors import BadInput
from replicse.evaluation.neighbours import neighbours
from replicse.evaluation.suites import Vectors


def sentences(
    root: Path, queries: Mapping[str, str] | None = None, corpus: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Yield every sentence that `evaluate` asks for with these options."""
    asked, among = _checked(root, queries, corpus)
    yield from asked.values()
    yield from among


def evaluate(
    root: Path,
    vectors: Vectors,
    queries: Mapping[str, str] | None = None,
    corpus: Mapping[str, Any] | None = None,
    count: int = 3,
) -> dict[str, Any]:
    """Return under `neighbours` each named query and its `count` nearest sentences with their cosines, by rank.

    `corpus` is a recipe of `read_corpus` with a column `text`: captions of Flickr30k for SimCSE, the STS-B test set
    for DiffCSE. BadInput where queries or corpus are not given.
    """
    asked, among = _checked(root, queries, corpus)
    found = neighbours(vectors, list(asked.values()), among, count)
    return {
        "neighbours": {
            name: {"query": query}
            | {str(rank): {"sentence": text, "cosine": cosine} for rank, (text, cosine) in enumerate(some, 1)}
            for (name, query), some in zip(asked.items(), found, strict=True)
        }
    }


def _checked(
    root: Path, queries: Mapping[str, str] | None, corpus: Mapping[str, Any] | None
) -> tuple[Mapping[str, str], list[str]]:
    """Return queries and the sentences of the corpus."""
    if not queries or not corpus:
        missing = "corpus" if queries else "queries"
        raise BadInput(f"suite retrieval: {missing} is not given; name it in the suite's options")
    return queries, read_corpus(root, corpus)["text"]
