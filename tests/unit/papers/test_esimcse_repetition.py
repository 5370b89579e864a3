"""Repetition as in ESimCSE's code: how many tokens or words, and which.

The other tokens keep their order.
"""

from collections import Counter

import micro
import pytest

from replicse.augment import augment, token_change


def repeated(items, doubled):
    """Return a list in which some items are repeated."""
    found = []
    for item in items:
        found += [item] * (1 + (item in doubled))
    return found


def twice(change, row, tokens):
    """Return the set of repeated tokens, and check all other tokens.

    Args:
        change: Function that repeats tokens.
        row: Index of the row.
        tokens: Different token ids, between [CLS] and [SEP].
    """
    ids, special = [2, *tokens, 3], [1, *[0] * len(tokens), 1]
    made = change(row, ids, special)
    assert made == change(row, ids, special), "drawn once for a row"
    doubled = {token for token in tokens if made.count(token) == 2}
    assert made == [2, *repeated(tokens, doubled), 3]
    return doubled


@pytest.mark.parametrize("rate", [0.28, 0.32])
def test_fewer_pieces_than_the_rate_of_the_row_and_than_ten(tmp_path, rate):
    change = token_change({"name": "repetition", "rate": rate}, micro.tokenizer_file(tmp_path))
    for length in (3, 6, 7, 10, 20, 32, 40):
        tokens = list(range(100, 98 + length))
        counts = Counter(len(twice(change, row, tokens)) for row in range(600))
        cases = max(1, min(10, int(rate * length)))
        assert set(counts) == set(range(cases)), "none where one at most is allowed"
        assert min(counts.values()) > 0.6 * 600 / cases, "evenly"


def test_a_rate_of_one_repeats_no_more_tokens_than_there_are(tmp_path):
    change = token_change({"name": "repetition", "rate": 1}, micro.tokenizer_file(tmp_path))
    assert {len(twice(change, row, [100, 101])) for row in range(100)} == {0, 1, 2}
    assert change(0, [2, 3], [1, 1]) == [2, 3]


@pytest.mark.parametrize(
    ("words", "rate", "counts"), [(1, 1, 1), (2, 0.3, 2), (5, 0.3, 2), (9, 0.5, 4), (40, 0.32, 10)]
)
def test_words_but_the_last_are_repeated(words, rate, counts):
    """All words except the last word should be repeated.

    The number of repeated words should be below the rate times the number of words, rounded down (below two
    if that is less), and below ten.
    """
    line = [f"w{number}" for number in range(words)]
    lines = augment([" ".join(line)] * 400, {"name": "word-repetition", "rate": rate})
    assert lines == augment([" ".join(line)] * 400, {"name": "word-repetition", "rate": rate})
    found, seen = set(), set()
    for made in lines:
        doubled = {word for word in line if made.split().count(word) == 2}
        assert made.split() == repeated(line, doubled)
        found.add(len(doubled))
        seen |= doubled
    assert found == set(range(counts))
    assert seen == set(line[:-1])
