"""Sentence vectors as averages of GloVe word vectors."""

import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from replicse.data.sts import read_lines
from replicse.errors import BadInput
from replicse.registry.encoders import WordVectors


class AverageWordVectors:
    """An encoder that averages the vectors of the words of a sentence.

    Words are split at white space. If a word has no vector, it is looked up without punctuation at both ends, and then
    in lower case, as in the word model of sentence-transformers, whose scores the papers copy (methods 2.5). Words
    without a vector are skipped. The vector of a sentence without any known word is zero, with a cosine of 0.

    Args:
        words: A list of the words.
        matrix: The vectors of the words, (words, d), float32.
    """

    def __init__(self, words: Sequence[str], matrix: np.ndarray) -> None:
        self.places = {word: place for place, word in enumerate(words)}
        self.matrix = matrix

    @classmethod
    def open(cls, root: Path, wanted: WordVectors) -> Self:
        """Load a file of word vectors below a data root.

        Args:
            root: The data root, a folder of datasets.
            wanted: The parameters of the word vectors, with the path of the file.

        Raises:
            MissingData: If the file does not exist.
            BadInput: If a line of the file is not valid.
        """
        return cls(*read_word_vectors(root / wanted.file))

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences as float32 vectors (n, d), in their order."""
        vectors = np.zeros((len(sentences), self.matrix.shape[1]), dtype=np.float32)
        for vector, sentence in zip(vectors, sentences, strict=True):
            places = self._word_places(sentence)
            if places:
                vector[:] = self.matrix[places].mean(axis=0, dtype=np.float64)
        return vectors

    def prepare(self, sentences: Iterable[str]) -> None:
        """Do nothing, because vectors are computed on request."""

    def clear(self) -> None:
        """Do nothing, because there is no cache."""

    def _word_places(self, sentence: str) -> list[int]:
        """Return the rows of the words with a vector, with repetitions."""
        places = [self._place(word) for word in sentence.split()]
        return [place for place in places if place is not None]

    def _place(self, word: str) -> int | None:
        bare = word.strip(string.punctuation)
        for spelling in (word, bare, bare.lower()):
            if spelling in self.places:
                return self.places[spelling]
        return None


def read_word_vectors(file: Path) -> tuple[list[str], np.ndarray]:
    """Load the words of a GloVe text file and their vectors.

    A line is a word and d numbers, separated by single spaces. The first line sets d, so that a word can contain spaces
    (GloVe 840B has some). If a word is repeated, the first line counts.

    Args:
        file: The text file, possibly with the suffix `.gz`.

    Returns:
        The words and their vectors, (words, d), float32.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If a line is not valid.
    """
    vectors: dict[str, np.ndarray] = {}
    width = 0
    # Some copies of GloVe have re-encoded words beyond ASCII; these words are not found.
    for number, line in read_lines(file, fallback="latin-1"):
        width = width or _width(file, line)
        word, *numbers = line.rstrip().rsplit(" ", width)
        if len(numbers) < width or not word:
            problem = f"{len(numbers)} numbers after the word, but line 1 has {width}"
            raise BadInput(f"{file}:{number}: {problem}; fix or remove the line")
        if word not in vectors:
            vectors[word] = _vector(file, number, numbers)
    if not width:
        raise BadInput(f"{file}: the file is empty; expected a word and numbers on each line")
    return list(vectors), np.stack(list(vectors.values()))


def _width(file: Path, line: str) -> int:
    width = len(line.split()) - 1
    if width < 2:
        expected = "expected a word and numbers; remove a header of word2vec"
        raise BadInput(f'{file}:1: the line is "{line[:40]}"; {expected}')
    return width


def _vector(file: Path, number: int, numbers: list[str]) -> np.ndarray:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError as error:
        raise BadInput(f"{file}:{number}: {error}; fix or remove the line") from None
    if not np.isfinite(vector).all():
        raise BadInput(f"{file}:{number}: a number is not finite; fix or remove the line")
    return vector
