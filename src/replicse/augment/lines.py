"""Line by line: every line has its own random stream, so its result depends on no other line."""

from collections.abc import Callable, Sequence
from random import Random


def line_random(seed: int, index: int) -> Random:
    """Return the random stream of line `index`."""
    return Random(f"{seed}/{index}")


def each_line(lines: Sequence[str], seed: int, change: Callable[[str, Random], str]) -> list[str]:
    """Return `change(line, stream)` of every line; lines without words stay as they are."""
    return [change(line, line_random(seed, i)) if line.strip() else line for i, line in enumerate(lines)]


def each_words(
    lines: Sequence[str], seed: int, change: Callable[[list[str], Random], Sequence[str]]
) -> list[str]:
    """Return every line with its space-separated words replaced by `change(words, stream)`."""
    return each_line(lines, seed, lambda line, random: " ".join(change(line.split(), random)))
