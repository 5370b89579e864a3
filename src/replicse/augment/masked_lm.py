"""Word pieces that a masked-LM replaces (SimCSE Table 1, "MLM k%") or inserts (DiffCSE, appendix B)."""

from collections.abc import Sequence

import numpy as np

from replicse.augment.proposals import Proposer


def masked_lm(lines: Sequence[str], *, seed: int, ratio: float, encoder: str) -> list[str]:
    """Return lines in which a share of the word pieces is replaced by the best other proposal of a frozen masked-LM.

    The pieces are masked together, the encoder runs without dropout, and the most likely piece that differs from
    the original is taken (methods 8.3). `encoder` is a folder with a masked-LM head.
    """
    proposer = Proposer(encoder)
    rows = proposer.pieces(lines)
    chosen = [_chosen(row, proposer.special, ratio, (seed, place)) for place, row in enumerate(rows)]
    originals = [row[places] for row, places in zip(rows, chosen, strict=True)]
    return proposer.text(proposer.fill(rows, chosen, avoid=originals))


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


def _chosen(row: np.ndarray, forbidden: list[int], ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return the places to replace: the rounded share of the ordinary pieces, at least one where there is any."""
    ordinary = np.flatnonzero(~np.isin(row, forbidden))
    count = min(len(ordinary), max(1, round(ratio * len(ordinary))))
    return np.sort(np.random.default_rng(seed).choice(ordinary, count, replace=False)) if count else ordinary


def _inserted(length: int, ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return the places of inserted pieces among those of a longer row, after its first special token."""
    count = max(1, round(ratio * length)) if length > 0 else 0
    return 1 + np.sort(np.random.default_rng(seed).choice(length + count, count, replace=False))
