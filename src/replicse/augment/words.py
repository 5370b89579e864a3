"""Augmentations that remove words: crop, deletion, delete-one-word."""

import math
from collections.abc import Sequence
from random import Random

from replicse.augment.lines import each_line, each_words


def crop(lines: Sequence[str], *, seed: int, keep: float, unit: str, position: str) -> list[str]:
    """Crop each line to a contiguous part.

    SimCSE keeps max(1, round(keep * n)) words from a random position. The reproducibility study keeps the first
    floor(keep * n) characters, at least one.

    Args:
        lines: A list of lines.
        seed: The seed of the positions.
        keep: The share to keep, from 0 to 1.
        unit: "word" or "character".
        position: "window" to start at a random position, or "prefix" to start at the beginning.

    Returns:
        A list of the new lines.
    """

    def cut_words(words: list[str], random: Random) -> list[str]:
        kept = max(1, round(keep * len(words)))
        start = random.randint(0, len(words) - kept) if position == "window" else 0
        return words[start : start + kept]

    def cut_characters(line: str, random: Random) -> str:
        line = line.strip()
        kept = max(1, _floor(keep * len(line)))
        if position == "prefix":
            return line[:kept]
        # A window does not start at a space, because a window of one character would be an empty sentence.
        starts = [start for start in range(len(line) - kept + 1) if not line[start].isspace()]
        start = random.choice(starts)
        return line[start : start + kept]

    if unit == "word":
        return each_words(lines, seed, cut_words)
    return each_line(lines, seed, cut_characters)


def deletion(lines: Sequence[str], *, seed: int, rate: float, rounding: str) -> list[str]:
    """Delete a share of random words from each line.

    At least one word is kept.

    Args:
        lines: A list of lines.
        seed: The seed of the words.
        rate: The share of words to delete, from 0 to 1.
        rounding: "round" deletes round(rate * n) words (SimCSE), "keep-floor" keeps floor((1 - rate) * n)
            words, which deletes slightly more (the reproducibility study).

    Returns:
        A list of the new lines.
    """

    def delete(words: list[str], random: Random) -> list[str]:
        count = len(words)
        kept = count - round(rate * count) if rounding == "round" else _floor((1 - rate) * count)
        return _choose_words(words, max(1, kept), random)

    return each_words(lines, seed, delete)


def delete_one_word(lines: Sequence[str], *, seed: int) -> list[str]:
    """Delete a random word from each line; lines of one word are not changed.

    Args:
        lines: A list of lines.
        seed: The seed of the words.

    Returns:
        A list of the new lines.
    """
    return each_words(lines, seed, lambda words, random: _choose_words(words, max(1, len(words) - 1), random))


def _choose_words(words: list[str], kept: int, random: Random) -> list[str]:
    """Return random words in their order."""
    return [words[place] for place in sorted(random.sample(range(len(words)), kept))]


def _floor(value: float) -> int:
    """Return the floor of a value with a tolerance of 1e-9."""
    # Decimal 3 can be 2.9999999996 in binary.
    return math.floor(value + 1e-9)
