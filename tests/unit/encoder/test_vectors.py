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


def test_vectors_of_many_calls_are_copied_into_few_arrays():
    vectors = CallableVectors(lambda sentences: [[float(sentence), 1.0] for sentence in sentences])
    arrays = set()
    kept = []
    for block in range(100):
        vectors.prepare([str(3 * block + row) for row in range(3)])
        kept.append(vectors._vectors)
        arrays.add(id(kept[-1]))
    assert len(arrays) < 12
    assert vectors(list(map(str, (0, 299, 7)))).tolist() == [[0, 1], [299, 1], [7, 1]]
    vectors.clear()
    assert vectors(["5"]).tolist() == [[5, 1]]


def test_vectors_of_another_width_are_refused():
    vectors = CallableVectors(lambda sentences: [[1.0] * len(sentences[0])] * len(sentences))
    vectors.prepare(["aa"])
    with pytest.raises(
        BadInput, match="the vectors have width 3, but earlier ones 2; return vectors of one width"
    ):
        vectors.prepare(["bbb"])
