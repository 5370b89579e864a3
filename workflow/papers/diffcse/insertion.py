"""Word pieces that a masked-LM inserts (DiffCSE, appendix B)."""

from collections.abc import Sequence

import numpy as np

from replicse.augment.proposals import Proposer


def insertion(lines: Sequence[str], *, seed: int, ratio: float, encoder: str) -> list[str]:
    """Return lines with word pieces inserted at random places, their number a share of the length.

    Masks are inserted, at least one where a line has any piece, and the best proposals of a frozen masked-LM
    take their places (DiffCSE, section 5). `encoder` is a folder with a masked-LM head.
    """
    proposer = Proposer(encoder)
    # Room for what is inserted, one by rounding included.
    rows = proposer.pieces(lines, at_most=int((proposer.max_length - 1) / (1 + ratio)))
    places = [_inserted(len(row) - 2, ratio, (seed, place)) for place, row in enumerate(rows)]
    widened = [
        np.insert(row, some - np.arange(len(some)), proposer.mask)
        for row, some in zip(rows, places, strict=True)
    ]
    return proposer.text(proposer.fill(widened, places))


def _inserted(length: int, ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return the places of inserted pieces among those of a longer row, after its first special token."""
    count = max(1, round(ratio * length)) if length > 0 else 0
    return 1 + np.sort(np.random.default_rng(seed).choice(length + count, count, replace=False))
