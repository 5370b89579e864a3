"""Texts of several sentences, and chunks of them: pairs of neighbouring sentences, drawn again at each visit."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from replicse.data.corpora import Row, corpus_rows
from replicse.data.sts import one_spaced, read_lines
from replicse.data.tables import table_rows
from replicse.data.transfer import load_transfer

from .method import Chunks, Documents, TransferSentences


def transfer_sentences(root: Path, corpus: TransferSentences) -> Iterator[Row]:
    """Yield the sentences of a transfer set and their classes, its splits after each other."""
    for split in load_transfer(root, corpus.task).splits.values():
        yield from zip(split.first, map(str, split.labels), strict=True)


def documents(root: Path, corpus: Documents) -> Iterator[Row]:
    """Yield texts on one line, each of their sentences with an end, and of a table with a `label` their classes."""
    path = root / corpus.file
    if corpus.text:
        headings = [heading for heading in (corpus.text, corpus.label) if heading]
        yield from (cells for _, cells in table_rows(str(path), headings, headings[1:]))
        return
    stripped = (line.strip() for _, line in read_lines(path))
    ended = (line if not line or line[-1] in ".?!" else f"{line}." for line in stripped)
    yield from ((one_spaced(" ".join(sentences)),) for is_text, sentences in groupby(ended, bool) if is_text)


def chunks(root: Path, corpus: Chunks) -> Iterator[Row]:
    """Yield two different chunks of each document that has two, drawn evenly, at each visit; the others are dropped."""
    place = corpus.documents.columns.index("text")
    texts = (row[place] for row in corpus_rows(root, corpus.documents))
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
