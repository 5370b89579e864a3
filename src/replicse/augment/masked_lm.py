"""Replacement of word pieces by a masked-LM (SimCSE Table 1, "MLM k%")."""

from collections.abc import Sequence

import numpy as np

from replicse.augment.proposals import Proposer


def masked_lm(lines: Sequence[str], *, seed: int, ratio: float, encoder: str) -> list[str]:
    """Replace word pieces of each line by proposals of a frozen masked-LM.

    Args:
        lines: A list of lines.
        seed: The seed of the places.
        ratio: The share of word pieces to replace, from 0 to 1.
        encoder: The folder of an encoder with a masked-LM head.

    Returns:
        A list of the new lines.

    Raises:
        BadInput: If the encoder has no masked-LM head.
    """
    proposer = Proposer(encoder)
    rows = proposer.pieces(lines)
    chosen = [_choose_places(row, proposer.special, ratio, (seed, place)) for place, row in enumerate(rows)]
    originals = [row[places] for row, places in zip(rows, chosen, strict=True)]
    return proposer.text(proposer.fill(rows, chosen, avoid=originals))


def _choose_places(row: np.ndarray, special: list[int], ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return random places: a share of the ordinary pieces, at least one."""
    ordinary = np.flatnonzero(~np.isin(row, special))
    count = min(len(ordinary), max(1, round(ratio * len(ordinary))))
    if not count:
        return ordinary
    return np.sort(np.random.default_rng(seed).choice(ordinary, count, replace=False))
