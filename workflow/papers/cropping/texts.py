"""Readers of texts of several sentences and of random pairs of chunks."""

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
    """Yield the sentences of all splits of a transfer dataset with classes.

    Args:
        root: The data root, a folder of datasets.
        corpus: The corpus, with the name of the dataset.
    """
    for split in load_transfer(root, corpus.task).splits.values():
        yield from zip(split.first, map(str, split.labels), strict=True)


def documents(root: Path, corpus: Documents) -> Iterator[Row]:
    """Yield each text as a string without line breaks.

    In a text file, a full stop is added to sentences that end without punctuation. If the corpus is a table with
    `label`, a row consists of the text and the class.

    Args:
        root: The data root, a folder of datasets.
        corpus: The corpus, with the name of the file.
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
    """Add a full stop if a line is not empty and ends without punctuation."""
    return line if not line or line[-1] in ".?!" else f"{line}."


def chunks(root: Path, corpus: Chunks) -> Iterator[Row]:
    """Yield two different random chunks of each document at each visit.

    Documents with fewer than two chunks are skipped.

    Args:
        root: The data root, a folder of datasets.
        corpus: The corpus, with the documents and the sizes of sentences and chunks.
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
    """Return all chunks of a text.

    As in the code of Gonzalez-Marquez et al., the text is split at full stops. Sentences that are too short or too long
    are skipped, so the sentences of a chunk may be separated by skipped sentences in the text. A chunk starts at each
    sentence that is followed by enough sentences.

    Args:
        text: The text.
        sentences: The number of sentences of a chunk.
        shortest: The minimum number of characters of a sentence, including a space at the start.
        longest: The maximum number of characters of a sentence.

    Returns:
        The chunks in the order of the text.
    """
    fitting = [f"{part.strip()}." for part in text.split(".") if shortest <= len(part) <= longest]
    starts = range(len(fitting) - sentences + 1)
    return [" ".join(fitting[start : start + sentences]) for start in starts]
