"""Averages of word vectors: file format, tokenisation, and the mean."""

import gzip

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from replicse.encoder.baselines.word_vectors import AverageWordVectors, read_word_vectors
from replicse.errors import BadInput

WORDS = ["dog", "Dog", "cat", "dog!", "the", "n't"]
MATRIX = np.arange(12, dtype=np.float32).reshape(6, 2) ** 2


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@given(st.lists(st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=6), min_size=1, max_size=5))
def test_a_sentence_is_the_mean_of_its_known_words(sentences):
    found = AverageWordVectors(WORDS, MATRIX)(list(map(" ".join, sentences)))
    assert found.dtype == np.float32 and found.shape == (len(sentences), 2)
    for vector, words in zip(found, sentences, strict=True):
        total, count = np.zeros(2), 0
        for word in words:
            if word != "unheard":
                total += MATRIX[WORDS.index(word)]
                count += 1
        assert vector == pytest.approx(total / count if count else [0, 0])


@pytest.mark.parametrize(
    ("word", "place"), [("dog!", 3), ("Dog", 1), ("CAT", 2), ('"Cat"', 2), ('"Dog"', 1), ("...", None)]
)
def test_spellings_that_are_looked_up(word, place):
    encoder = AverageWordVectors(WORDS, MATRIX + 1)
    expected = np.zeros(2) if place is None else MATRIX[place] + 1
    assert encoder([word])[0] == pytest.approx(expected)


def test_files_are_read(tmp_path):
    file = write(tmp_path / "glove.txt", ["the 1 2", ". . . 0.5 -1e-3", "naïve 3 4", "the 9 9"])
    words, matrix = read_word_vectors(file)
    assert words == ["the", ". . .", "naïve"]
    assert matrix.dtype == np.float32
    assert matrix == pytest.approx(np.array([[1, 2], [0.5, -0.001], [3, 4]]))
    packed = tmp_path / "glove.txt.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_word_vectors(packed)[0] == words


@cases
def test_malformed_lines_are_named(tmp_path, lines, message):
    with pytest.raises(BadInput, match=message):
        read_word_vectors(write(tmp_path / "glove.txt", lines))
