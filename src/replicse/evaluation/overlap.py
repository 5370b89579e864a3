"""Lexical overlap of sentence pairs (SimCSE, section 4)."""

import string
from collections import Counter
from collections.abc import Sequence


def lexical_overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Compute the mean F1 (x 100) of the two bags of words of a pair.

    A word is counted as often as both sides contain it. The paper does not specify the tokenisation (methods
    1.9): words are lowercased, split at white space, and stripped of punctuation at both ends. A pair without
    words has F1 0.

    Args:
        first: A list of the first sentences.
        second: A list of the second sentences, of the same length.

    Raises:
        ValueError: If the sides have different lengths, or are empty.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"overlap needs pairs; got {len(first)} first and {len(second)} second sentences")
    return 100 * sum(map(_f1, first, second)) / len(first)


def bag_of_words(sentence: str) -> Counter[str]:
    """Count the words of a sentence.

    Args:
        sentence: The sentence.

    Returns:
        A dict from words to counts.
    """
    words = (word.strip(string.punctuation) for word in sentence.lower().split())
    return Counter(word for word in words if word)


def _f1(first: str, second: str) -> float:
    """Return 2 |A and B| / (|A| + |B|), the F1 of two bags of words."""
    left, right = bag_of_words(first), bag_of_words(second)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0
