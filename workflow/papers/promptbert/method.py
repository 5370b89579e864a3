"""What PromptBERT's method (Jiang et al. 2022) has beyond a pooling with a template: sentences that end."""

from collections.abc import Sequence
from typing import Literal

from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.poolings import ended


class FullStop(AugmentationParameters):
    """A full stop after every line that has no end, as a pooling with `full_stop` sets it at test time (PromptBERT)."""

    name: Literal["full-stop"]


def full_stop(lines: Sequence[str], *, seed: int) -> list[str]:
    """Return every line with a full stop, where it has no end; nothing is drawn."""
    return [ended(line) for line in lines]
