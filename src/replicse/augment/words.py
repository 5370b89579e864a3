"""Augmentations that drop words: crop, deletion, delete-one-word."""

import math
from collections.abc import Sequence
from random import Random

from replicse.augment.lines import each_line, each_words


def crop(lines: Sequence[str], *, seed: int, keep: float, unit: str, position: str) -> list[str]:
    """Return a contiguous part of every line.

    SimCSE's crop keeps max(1, round(keep * n)) whole words, the window starting anywhere or (`prefix`) at the
    first word; the reproducibility study keeps the first floor(keep * n) characters (at least one).
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
        # A window may not start with a blank: of one character it would be an empty sentence.
        start = random.choice([i for i in range(len(line) - kept + 1) if not line[i].isspace()])
        return line[start : start + kept]

    return each_words(lines, seed, cut_words) if unit == "word" else each_line(lines, seed, cut_characters)


def deletion(lines: Sequence[str], *, seed: int, rate: float, rounding: str) -> list[str]:
    """Return every line without a random `rate` of its words, in order, at least one word left.

    `round` deletes round(rate * n) words (SimCSE); `keep-floor` keeps floor((1 - rate) * n), which deletes
    slightly more (the reproducibility study).
    """

    def delete(words: list[str], random: Random) -> list[str]:
        n = len(words)
        kept = n - round(rate * n) if rounding == "round" else _floor((1 - rate) * n)
        return _subset(words, max(1, kept), random)

    return each_words(lines, seed, delete)


def delete_one_word(lines: Sequence[str], *, seed: int) -> list[str]:
    """Return every line without one uniformly random word; a one-word line stays as it is."""
    return each_words(lines, seed, lambda words, random: _subset(words, max(1, len(words) - 1), random))


def _subset(words: list[str], kept: int, random: Random) -> list[str]:
    return [words[i] for i in sorted(random.sample(range(len(words)), kept))]


def _floor(value: float) -> int:
    """Return the floor, with 2.9999999996 taken as the 3 that decimal arithmetic gives."""
    return math.floor(value + 1e-9)
