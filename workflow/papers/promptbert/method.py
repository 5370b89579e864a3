"""The augmentation of PromptBERT (Jiang et al. 2022).

It adds a full stop to sentences without punctuation at the end.
"""

from collections.abc import Sequence
from typing import Literal

from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.poolings import ended


class FullStop(AugmentationParameters):
    """A full stop after each line without punctuation at the end.

    A pooling with `full_stop` does the same at test time.
    """

    name: Literal["full-stop"]


def full_stop(lines: Sequence[str], *, seed: int) -> list[str]:
    """Add a full stop to each line without punctuation at the end.

    Args:
        lines: the lines.
        seed: not used.

    Returns:
        List of the changed lines, in the same order.
    """
    return [ended(line) for line in lines]
