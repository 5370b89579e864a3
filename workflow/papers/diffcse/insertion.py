"""Insertion of word pieces by a masked-LM (DiffCSE, appendix B)."""

from collections.abc import Sequence

import numpy as np

from replicse.augment.proposals import Proposer


def insertion(lines: Sequence[str], *, seed: int, ratio: float, encoder: str) -> list[str]:
    """Insert word pieces at random places of each line.

    Mask tokens are inserted, and a frozen masked-LM replaces them by the most likely pieces (DiffCSE, section 5). A
    line with any pieces gets at least one new piece.

    Args:
        lines: The lines.
        seed: The random seed. The positions in a line depend only on the seed and on the index and length of the line.
        ratio: The number of inserted pieces, as a share of the line's pieces.
        encoder: The folder of an encoder with a masked-LM head.

    Returns:
        The lines with insertions, in the same order.
    """
    proposer = Proposer(encoder)
    # Truncate lines so that they still fit after the insertions; rounding may add one more piece.
    rows = proposer.pieces(lines, at_most=int((proposer.max_length - 1) / (1 + ratio)))
    places = [_choose_places(len(row) - 2, ratio, (seed, number)) for number, row in enumerate(rows)]
    widened = []
    for row, inserted in zip(rows, places, strict=True):
        widened.append(np.insert(row, inserted - np.arange(len(inserted)), proposer.mask))
    return proposer.text(proposer.fill(widened, places))


def _choose_places(length: int, ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Draw the sorted positions where inserted pieces stand in the longer row."""
    count = max(1, round(ratio * length)) if length > 0 else 0
    return 1 + np.sort(np.random.default_rng(seed).choice(length + count, count, replace=False))
