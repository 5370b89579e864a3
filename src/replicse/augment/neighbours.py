"""Augmentations that look at other lines of the corpus."""

from collections.abc import Sequence

from replicse.augment.lines import line_random


def next_sentence(lines: Sequence[str], *, seed: int, reach: int) -> list[str]:
    """Return for every line one of the `reach` lines after it, uniformly; the last line follows itself.

    Near the end only the lines that exist are drawn from. Document boundaries are ignored (SimCSE, Table 1,
    does not mark them).
    """
    last = len(lines) - 1
    return [
        lines[line_random(seed, i).randint(min(i + 1, last), min(i + reach, last))] for i in range(len(lines))
    ]
