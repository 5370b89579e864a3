"""Word pieces that a masked-LM replaces (SimCSE Table 1, "MLM k%")."""

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


def _chosen(row: np.ndarray, forbidden: list[int], ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return the places to replace: the rounded share of the ordinary pieces, at least one where there is any."""
    ordinary = np.flatnonzero(~np.isin(row, forbidden))
    count = min(len(ordinary), max(1, round(ratio * len(ordinary))))
    return np.sort(np.random.default_rng(seed).choice(ordinary, count, replace=False)) if count else ordinary
