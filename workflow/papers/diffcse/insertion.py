"""Insertion of word pieces by a masked-LM (DiffCSE, appendix B)."""

from collections.abc import Sequence

import numpy as np

from replicse.augment.proposals import Proposer


def insertion(lines: Sequence[str], *, seed: int, ratio: float, encoder: str) -> list[str]:
    """Insert word pieces at random places of each line.

    Masks are inserted, at least one in a line with any pieces, and replaced by the most likely pieces of a frozen
    masked-LM (DiffCSE, section 5).

    Args:
        lines: the lines.
        seed: the seed.
        ratio: the number of inserted pieces as a share of a line's pieces.
        encoder: the folder of an encoder with a masked-LM head.
    """
    proposer = Proposer(encoder)
    # Lines are truncated so that they fit after insertions, including one piece from rounding.
    rows = proposer.pieces(lines, at_most=int((proposer.max_length - 1) / (1 + ratio)))
    places = [_choose_places(len(row) - 2, ratio, (seed, number)) for number, row in enumerate(rows)]
    widened = []
    for row, inserted in zip(rows, places, strict=True):
        widened.append(np.insert(row, inserted - np.arange(len(inserted)), proposer.mask))
    return proposer.text(proposer.fill(widened, places))


def _choose_places(length: int, ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return random places of inserted pieces in a row with insertions."""
    count = max(1, round(ratio * length)) if length > 0 else 0
    return 1 + np.sort(np.random.default_rng(seed).choice(length + count, count, replace=False))
