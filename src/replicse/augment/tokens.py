"""Augmentations of what the encoder reads: the ids of a tokenised line, special tokens among them."""

from collections.abc import Sequence
from random import Random

from replicse.registry.augmentations import MOST_REPEATED, permuted


def shuffle(ids: Sequence[int], special: Sequence[int], random: Random, *, fraction: float) -> list[int]:
    """Return the ids with a fraction of the tokens, at least two of them, permuted among their own places.

    `special` is 1 at the tokens that the tokenizer put around a line: they stay and are not counted. The permutation
    is uniform: it may move nothing (methods 3.3).
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    places = random.sample(ordinary, permuted(fraction, len(ordinary)))
    moved = list(ids)
    for place, source in zip(sorted(places), places, strict=True):
        moved[place] = ids[source]
    return moved


def repetition(ids: Sequence[int], special: Sequence[int], random: Random, *, rate: float) -> list[int]:
    """Return the ids with k of the tokens between the special ones twice in a row.

    k is drawn evenly from 0 to min(10, int(rate n)) - 1 for a row of n tokens, special ones among them.
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    most = min(MOST_REPEATED, int(rate * len(ids)))
    count = min(random.randrange(most), len(ordinary)) if most else 0
    twice = set(random.sample(ordinary, count))
    return [token for place, token in enumerate(ids) for token in [token] * (1 + (place in twice))]
