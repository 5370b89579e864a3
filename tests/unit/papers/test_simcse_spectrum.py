"""The spectrum of STS-B vectors, compared with closed forms."""

import numpy as np
import pytest
from papers.simcse import spectrum
from small_stsb import RandomVectors, write_stsb

PAIRS = {"train": [(1.0, "a", "b"), (2.0, "a", "c")], "dev": [(3.0, "d", "e")], "test": [(4.0, "f", "b")]}


def test_repeated_sentences_count_and_rows_are_normalised(tmp_path):
    vectors = RandomVectors(3)
    found = spectrum.evaluate(write_stsb(tmp_path, PAIRS), vectors)
    assert found["n_sentences"] == 8 and found["dimensions"] == 3
    assert sorted(spectrum.sentences(tmp_path, splits=("dev", "test"))) == ["b", "d", "e", "f"]
    rows = np.array([vectors.known[text] for text in "abacdefb"], dtype=np.float64)
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    squares = np.sort(np.linalg.eigvalsh(rows.T @ rows))[::-1]
    assert found["singular_values"] == pytest.approx(np.sqrt(squares / squares[0]))
    shares = np.sqrt(squares) / np.sqrt(squares).sum()
    entropy = -sum(share * np.log(share) for share in shares)
    assert found["effective_rank"] == pytest.approx(np.exp(entropy))


@pytest.mark.parametrize(
    ("vector", "reason"), [([0, 0], "all sentence vectors are zero"), ([np.inf, 0], "not finite")]
)
def test_undefined_spectra_are_failures(tmp_path, vector, reason):
    vectors = RandomVectors(2, fixed=dict.fromkeys("abcdef", vector))
    found = spectrum.evaluate(write_stsb(tmp_path, PAIRS), vectors)
    assert found["singular_values"] is None and found["effective_rank"] is None
    for text in found["failures"].values():
        assert reason in text
