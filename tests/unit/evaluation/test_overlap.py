"""Lexical overlap, compared with examples and a slow loop."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicse.evaluation.overlap import lexical_overlap

SENTENCES = st.lists(st.sampled_from(["a", "b", "B,", "c", "(c)"]), max_size=8).map(" ".join)


def words_of(text):
    words = [part.strip(",()").lower() for part in text.split()]
    return list(filter(None, words))


@settings(max_examples=40)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_is_the_mean_harmonic_mean_of_precision_and_recall(pairs):
    scores = []
    for first, second in pairs:
        left, right = words_of(first), words_of(second)
        rest, shared = list(right), 0
        for word in left:
            if word in rest:
                rest.remove(word)
                shared += 1
        precision, recall = shared / max(len(left), 1), shared / max(len(right), 1)
        scores.append(2 * precision * recall / (precision + recall) if shared else 0)
    firsts, seconds = zip(*pairs, strict=True)
    assert lexical_overlap(firsts, seconds) == pytest.approx(100 * sum(scores) / len(scores))
    assert lexical_overlap(seconds, firsts) == pytest.approx(lexical_overlap(firsts, seconds))
