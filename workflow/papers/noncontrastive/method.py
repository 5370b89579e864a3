"""The method of Pappadopulo and Farina (2024).

It contains Barlow Twins and VICReg on sentences, and shuffled tokens.
"""

from collections.abc import Sequence
from random import Random
from typing import ClassVar, Literal

from replicse.checked import Positive, Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TwoViews, Weight


class BarlowTwinsParameters(TwoViews):
    """Barlow Twins (Zbontar et al. 2021; methods 3.1).

    The default weight is from the reference code.
    """

    implementation: ClassVar[str] = "papers.noncontrastive.losses:BarlowTwins"
    term: Literal["barlow-twins"]
    off_diagonal_weight: Positive = 0.0051


class VICRegParameters(TwoViews):
    """VICReg (Bardes et al. 2022; methods 3.1).

    It is scaled as in the reference code or as in the paper's formula.
    """

    implementation: ClassVar[str] = "papers.noncontrastive.losses:VICReg"
    term: Literal["vicreg"]
    convention: Literal["reference", "paper"] = "reference"
    invariance: Weight = 25
    variance: Weight = 25
    covariance: Weight = 1
    gamma: Positive = 1
    epsilon: Positive = 1e-4


class Shuffle(AugmentationParameters):
    """Permutation of a share of the tokens (methods 3.3).

    At least two tokens are permuted. Special tokens are not moved.
    """

    of_tokens: ClassVar[bool] = True
    name: Literal["shuffle"]
    fraction: Share


def count_permuted(fraction: float, tokens: int) -> int:
    """Return the number of tokens to permute.

    It is at least two, because a single token cannot move.
    """
    return min(tokens, max(2, round(fraction * tokens))) if fraction else 0


def shuffle(ids: Sequence[int], special: Sequence[int], random: Random, *, fraction: float) -> list[int]:
    """Permute a share of random tokens, at least two.

    The permutation is uniform, so it may be the identity (methods 3.3).

    Args:
        ids: the token ids of a row.
        special: 1 for special tokens, which are not moved and not counted, otherwise 0.
        random: the generator of the row.
        fraction: the share of tokens to permute.
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    places = random.sample(ordinary, count_permuted(fraction, len(ordinary)))
    moved = list(ids)
    for place, source in zip(sorted(places), places, strict=True):
        moved[place] = ids[source]
    return moved
