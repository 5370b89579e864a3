"""Chunks of documents: pairs of neighbouring sentences of one text, drawn again at each visit."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from replicse.data.corpora import Row, read_corpus

from .method import Chunks


def chunks(root: Path, corpus: Chunks) -> Iterator[Row]:
    """Yield two different chunks of each document that has two, drawn evenly, at each visit; the others are dropped."""
    texts = read_corpus(root, corpus.documents)["text"]
    by_document = [chunks_of(text, corpus.sentences, corpus.shortest, corpus.longest) for text in texts]
    random = np.random.default_rng(corpus.seed)
    for some in (some for _ in range(corpus.visits) for some in by_document if len(some) > 1):
        first, second = random.choice(len(some), size=2, replace=False)
        yield some[first], some[second]


def chunks_of(text: str, sentences: int, shortest: int, longest: int) -> list[str]:
    """Return the chunk that begins with each sentence of a length, where enough of them follow, in order.

    What lies between two full stops is a sentence, a blank before it counts, and those of other lengths are skipped:
    the sentences of a chunk need not be next to each other in the text (as in the code of Gonzalez-Marquez et al.).
    """
    fitting = [part.strip() for part in text.split(".") if shortest <= len(part) <= longest]
    starts = range(len(fitting) - sentences + 1)
    return [" ".join(f"{part}." for part in fitting[start : start + sentences]) for start in starts]
