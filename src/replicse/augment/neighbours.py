"""Augmentations that use other lines of the corpus."""

from collections.abc import Sequence

from replicse.augment.lines import line_random


def next_sentence(lines: Sequence[str], *, seed: int, reach: int) -> list[str]:
    """Return for each line a random line from the `reach` lines after it.

    The last line is replaced by itself. Near the end there are fewer lines to choose from. Document boundaries are
    ignored (SimCSE, Table 1, does not mark them).

    Args:
        lines: A list of lines.
        seed: The seed of the distances.
        reach: The largest distance of a line.

    Returns:
        A list of lines, one for each line.
    """
    last = len(lines) - 1
    result = []
    for index in range(len(lines)):
        chosen = line_random(seed, index).randint(min(index + 1, last), min(index + reach, last))
        result.append(lines[chosen])
    return result
