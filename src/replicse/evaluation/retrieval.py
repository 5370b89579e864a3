"""Retrieval: the nearest neighbours of named queries.

SimCSE Table 8, DiffCSE Table 9.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.data.corpora import read_corpus
from replicse.evaluation.neighbours import neighbours
from replicse.evaluation.suites import Vectors
from replicse.registry.corpora import Corpus
from replicse.registry.suites import NEIGHBOURS


def sentences(root: Path, queries: Mapping[str, str], corpus: Corpus | Mapping[str, Any]) -> Iterator[str]:
    """Yield every sentence that `evaluate` encodes with these options.

    Args:
        root: The data root, a folder of datasets.
        queries: A dict from names to queries.
        corpus: The corpus, with a column `text`.
    """
    yield from queries.values()
    yield from read_corpus(root, corpus)["text"]


def evaluate(
    root: Path,
    vectors: Vectors,
    queries: Mapping[str, str],
    corpus: Corpus | Mapping[str, Any],
    count: int = NEIGHBOURS,
) -> dict[str, Any]:
    """Find the nearest sentences of each query, by rank.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        queries: A dict from names to queries.
        corpus: A corpus with a column `text`: captions of Flickr30k for SimCSE, the STS-B test set for
            DiffCSE.
        count: The number of sentences per query. Default: 3.

    Returns:
        A dict with `neighbours`: for each query the text, and sentence and cosine by rank.
    """
    rankings = neighbours(vectors, list(queries.values()), read_corpus(root, corpus)["text"], count)
    found = {}
    for (name, query), ranking in zip(queries.items(), rankings, strict=True):
        entry: dict[str, Any] = {"query": query}
        for rank, (text, cosine) in enumerate(ranking, 1):
            entry[str(rank)] = {"sentence": text, "cosine": cosine}
        found[name] = entry
    return {"neighbours": found}
