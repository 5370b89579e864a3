"""Encoders that are functions."""

import pytest

from replicse.encoder.vectors import CallableVectors
from replicse.errors import BadInput


def test_vectors_of_a_function_are_kept_in_one_array_and_encoded_once():
    calls = []

    def encode(sentences):
        calls.append(sentences)
        return [[len(sentence), 1.0] for sentence in sentences]

    vectors = CallableVectors(encode)
    vectors.prepare(["a", "bb", "a"])
    assert vectors(["bb", "ccc", "a", "bb"]).tolist() == [[2, 1], [3, 1], [1, 1], [2, 1]]
    assert calls == [["a", "bb"], ["ccc"]]
    vectors.clear()
    assert vectors(["a"]).tolist() == [[1, 1]] and calls[2:] == [["a"]]


def test_vectors_of_another_width_are_refused():
    vectors = CallableVectors(lambda sentences: [[1.0] * len(sentences[0])] * len(sentences))
    vectors.prepare(["aa"])
    with pytest.raises(
        BadInput, match="the vectors have width 3, but earlier ones 2; return vectors of one width"
    ):
        vectors.prepare(["bbb"])
