"""Masked spans of characters: which, where, and what stays as it is."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from replicse.augment import augment

SPAN = {"name": "span-masking", "characters": 5, "shortest": 30}


def by_hand(line, start, characters=5, mask="[MASK]"):
    """Return the line with the first place masked that reads as the span from `start`, character by character."""
    span = line[start : start + characters]
    first = next(place for place in range(len(line)) if line[place : place + characters] == span)
    return line[:first] + " " + mask + " " + line[first + characters :]


@given(
    st.lists(st.text(alphabet="ab ", max_size=45), min_size=1, max_size=4),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_a_span_is_one_of_those_by_hand_or_the_line_stays(lines, characters, seed):
    """Few letters, so that most spans occur more than once."""
    spec = {**SPAN, "characters": characters, "seed": seed}
    for line, found in zip(lines, augment(lines, spec), strict=True):
        if len(line) < 30 or not line.strip():
            assert found == line
        else:
            starts = range(len(line) - characters)
            assert found in {by_hand(line, start, characters) for start in starts}
    assert augment(lines, spec) == augment(lines, spec)


def test_a_line_of_29_characters_stays_and_one_of_30_does_not():
    long = "abcdefghijklmnopqrstuvwxyz0123"
    assert augment([long[:29], long], SPAN)[0] == long[:29]
    assert augment([long], SPAN) != [long]
    assert augment([long], {**SPAN, "characters": 30}) == [long], "no longer than the span"


def test_every_start_is_drawn_alike_and_the_last_character_never_masked():
    line = "abcdefghijklmnopqrstuvwxyz0123"
    found = Counter(augment([line] * 5000, SPAN))
    assert set(found) == {by_hand(line, start) for start in range(25)}
    assert all(130 < count < 280 for count in found.values())
    assert all(text.endswith("3") for text in found)


def test_the_first_occurrence_is_masked_whatever_was_drawn():
    line = "ab" * 20
    assert set(augment([line] * 200, {**SPAN, "characters": 2})) == {
        f" [MASK] {line[2:]}",
        f"a [MASK] {line[3:]}",
    }


def test_the_mask_is_the_text_that_is_named():
    (found,) = augment(["a" * 31], {**SPAN, "mask": "<mask>"})
    assert found == " <mask> " + "a" * 26
