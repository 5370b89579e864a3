"""Augmentations that use other lines of the corpus."""

from collections.abc import Sequence

from replicse.augment.lines import line_random


def next_sentence(lines: Sequence[str], *, seed: int, reach: int) -> list[str]:
    """Return for each line a random line from the `reach` lines after it.

    The last line is replaced by itself. Near the end there are fewer lines to choose from. Document boundaries are
    ignored (SimCSE, Table 1, does not mark them).

    Args:
        lines: the lines.
        seed: the seed.
        reach: the largest distance of a line.
    """
    last = len(lines) - 1
    result = []
    for index in range(len(lines)):
        chosen = line_random(seed, index).randint(min(index + 1, last), min(index + reach, last))
        result.append(lines[chosen])
    return result
