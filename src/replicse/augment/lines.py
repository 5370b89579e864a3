"""Augmentation line by line.

Each line has a random generator, so that the result does not depend on other lines.
"""

from collections.abc import Callable, Sequence
from random import Random


def line_random(seed: int, index: int) -> Random:
    """Create the random generator of a line.

    Args:
        seed: The seed of the augmentation.
        index: The number of the line, from 0.
    """
    return Random(f"{seed}/{index}")


def each_line(lines: Sequence[str], seed: int, change: Callable[[str, Random], str]) -> list[str]:
    """Apply a change to each line; lines without words are not changed.

    Args:
        lines: A list of lines.
        seed: The seed of the augmentation.
        change: A function of a line and a random generator that returns the new line.

    Returns:
        A list of the new lines.
    """
    changed = []
    for index, line in enumerate(lines):
        changed.append(change(line, line_random(seed, index)) if line.strip() else line)
    return changed


def each_words(
    lines: Sequence[str], seed: int, change: Callable[[list[str], Random], Sequence[str]]
) -> list[str]:
    """Apply a change to the words of each line, separated by white space.

    Args:
        lines: A list of lines.
        seed: The seed of the augmentation.
        change: A function of the list of words of a line and a random generator that returns the new words.

    Returns:
        A list of the new lines.
    """
    return each_line(lines, seed, lambda line, random: " ".join(change(line.split(), random)))
