"""Texts of several sentences, and random pairs of chunks.

A chunk consists of neighbouring sentences.
"""

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
    """Yield the sentences of all splits of a transfer set with their classes."""
    for split in load_transfer(root, corpus.task).splits.values():
        yield from zip(split.first, map(str, split.labels), strict=True)


def documents(root: Path, corpus: Documents) -> Iterator[Row]:
    """Yield texts on one line with punctuation after each sentence.

    If the corpus is a table with `label`, the class of each text follows the text.
    """
    path = root / corpus.file
    if corpus.text:
        headings = [heading for heading in (corpus.text, corpus.label) if heading]
        for _, cells in table_rows(str(path), headings, headings[1:]):
            yield cells
        return
    lines = (line.strip() for _, line in read_lines(path))
    for is_text, sentences in groupby(map(_add_full_stop, lines), bool):
        if is_text:
            yield (one_spaced(" ".join(sentences)),)


def _add_full_stop(line: str) -> str:
    """Add a full stop to a line without punctuation at the end."""
    return line if not line or line[-1] in ".?!" else f"{line}."


def chunks(root: Path, corpus: Chunks) -> Iterator[Row]:
    """Yield two different random chunks of each document at each visit.

    Documents with fewer than two chunks are skipped.
    """
    place = corpus.documents.columns.index("text")
    by_document = []
    for row in corpus_rows(root, corpus.documents):
        document_chunks = split_chunks(row[place], corpus.sentences, corpus.shortest, corpus.longest)
        if len(document_chunks) > 1:
            by_document.append(document_chunks)
    random = np.random.default_rng(corpus.seed)
    for _ in range(corpus.visits):
        for document_chunks in by_document:
            first, second = random.choice(len(document_chunks), size=2, replace=False)
            yield document_chunks[first], document_chunks[second]


def split_chunks(text: str, sentences: int, shortest: int, longest: int) -> list[str]:
    """Return all chunks of consecutive sentences of a text.

    Sentences are separated by full stops, and sentences of other lengths are skipped, so that the sentences of a chunk
    are not always next to each other in the text (as in the code of Gonzalez-Marquez et al.).

    Args:
        text: the text.
        sentences: the number of sentences of a chunk.
        shortest: the minimum number of characters of a sentence, including a space at the start.
        longest: the maximum number of characters of a sentence.
    """
    fitting = [f"{part.strip()}." for part in text.split(".") if shortest <= len(part) <= longest]
    starts = range(len(fitting) - sentences + 1)
    return [" ".join(fitting[start : start + sentences]) for start in starts]
