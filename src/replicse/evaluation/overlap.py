"""Lexical overlap of sentence pairs (SimCSE, section 4)."""

import string
from collections import Counter
from collections.abc import Sequence


def lexical_overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the F1 (x 100) between the two bags of words of a pair, averaged over pairs.

    A word counts as often as both sides have it. The paper leaves the tokenisation open (methods 1.9): words
    are lower-cased, split at white space and stripped of punctuation at both ends. A pair without any word
    has F1 0. ValueError for sides of different length or without any pair.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"overlap needs pairs; got {len(first)} first and {len(second)} second sentences")
    return 100 * sum(map(_f1, first, second)) / len(first)


def bag_of_words(sentence: str) -> Counter[str]:
    """Return the words of a sentence with their counts."""
    words = (word.strip(string.punctuation) for word in sentence.lower().split())
    return Counter(word for word in words if word)


def _f1(first: str, second: str) -> float:
    """Return 2 |A and B| / (|A| + |B|), which is the F1 of one bag as a prediction of the other."""
    left, right = bag_of_words(first), bag_of_words(second)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0
