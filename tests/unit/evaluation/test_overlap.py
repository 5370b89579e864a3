"""Lexical overlap, by hand and against a slow loop."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicse.evaluation.overlap import lexical_overlap

SENTENCES = st.lists(st.sampled_from(["a", "b", "B,", "c", "(c)"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a dog runs", "a dog runs", 100.0),
        ("a dog runs", "the cat sleeps", 0.0),
        ("A dog, runs!", '"a" (dog) runs', 100.0),
        ("the the cat", "the dog", 40.0),
        ("two men walk", "two dogs", 40.0),
        ("", "", 0.0),
        ("...", "a", 0.0),
        ("it's fine", "its fine", 50.0),
    ],
)
def test_by_hand(first, second, expected):
    assert lexical_overlap([first], [second]) == pytest.approx(expected)


@settings(max_examples=40)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_is_the_mean_harmonic_mean_of_precision_and_recall(pairs):
    scores = []
    for first, second in pairs:
        left = [word for word in (part.strip(",()").lower() for part in first.split()) if word]
        right = [word for word in (part.strip(",()").lower() for part in second.split()) if word]
        rest, shared = list(right), 0
        for word in left:
            if word in rest:
                rest.remove(word)
                shared += 1
        precision, recall = (shared / len(side) if side else 0 for side in (left, right))
        scores.append(2 * precision * recall / (precision + recall) if shared else 0)
    firsts, seconds = zip(*pairs, strict=True)
    assert lexical_overlap(firsts, seconds) == pytest.approx(100 * sum(scores) / len(scores))
    assert lexical_overlap(seconds, firsts) == pytest.approx(lexical_overlap(firsts, seconds))


def test_question_pairs_overlap_as_the_paper_says(real_data):
    """SimCSE section 4: 60 % for QQP, 39 % for entailment pairs; here parts of both sets."""
    from replicse.data.corpora import read_corpus

    qqp = read_corpus(real_data, {"format": "qqp", "file": "pairs/qqp/qqp_sample.tsv"})
    files = ["nli/snli/snli_1.0_dev.jsonl", "nli/multinli/multinli_1.0_dev_matched.jsonl"]
    nli = read_corpus(real_data, {"format": "nli-pairs", "files": files, "labels": ["entailment"]})
    assert lexical_overlap(qqp["anchor"], qqp["positive"]) == pytest.approx(60, abs=5)
    assert lexical_overlap(nli["anchor"], nli["positive"]) == pytest.approx(39, abs=5)
