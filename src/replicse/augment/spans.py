"""A masked span of characters (Mirror-BERT, Liu et al. 2021)."""

from collections.abc import Sequence
from random import Random

from replicse.augment.lines import each_line


def span_masking(lines: Sequence[str], *, seed: int, characters: int, shortest: int, mask: str) -> list[str]:
    """Return every line with a random span of so many characters replaced by the mask, a blank on each side.

    As in the reference code the span never ends a line, and its text is masked where it first occurs, which may be
    before the place that was drawn.
    """

    def masked(line: str, random: Random) -> str:
        if len(line) <= characters or len(line) < shortest:
            return line
        start = random.randrange(len(line) - characters)
        before, after = line.split(line[start : start + characters], 1)
        return f"{before} {mask} {after}"

    return each_line(lines, seed, masked)
