"""Retrieval by example: the nearest neighbours of named queries (SimCSE Table 8, DiffCSE Table 9)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.data.corpora import read_corpus
from replicse.evaluation.neighbours import neighbours
from replicse.evaluation.suites import Vectors
from replicse.registry.corpora import Corpus
from replicse.registry.suites import NEIGHBOURS


def sentences(root: Path, queries: Mapping[str, str], corpus: Corpus | Mapping[str, Any]) -> Iterator[str]:
    """Yield every sentence that `evaluate` asks for with these options."""
    yield from queries.values()
    yield from read_corpus(root, corpus)["text"]


def evaluate(
    root: Path,
    vectors: Vectors,
    queries: Mapping[str, str],
    corpus: Corpus | Mapping[str, Any],
    count: int = NEIGHBOURS,
) -> dict[str, Any]:
    """Return under `neighbours` each named query and its `count` nearest sentences with their cosines, by rank.

    `corpus` has a column `text`: captions of Flickr30k for SimCSE, the STS-B test set for DiffCSE.
    """
    rankings = neighbours(vectors, list(queries.values()), read_corpus(root, corpus)["text"], count)
    return {
        "neighbours": {
            name: {"query": query}
            | {str(rank): {"sentence": text, "cosine": cosine} for rank, (text, cosine) in enumerate(some, 1)}
            for (name, query), some in zip(queries.items(), rankings, strict=True)
        }
    }
