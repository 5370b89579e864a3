"""The method of Pappadopulo and Farina (2024).

Barlow Twins and VICReg on sentences, and the shuffling of tokens.
"""

from collections.abc import Sequence
from random import Random
from typing import ClassVar, Literal

from replicse.checked import Positive, Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TwoViews, Weight


class BarlowTwinsParameters(TwoViews):
    """Barlow Twins (Zbontar et al. 2021; methods 3.1).

    The default weight is the value in the reference code.

    Args:
        off_diagonal_weight: the weight of the off-diagonal elements, lambda. Default: 0.0051.
    """

    implementation: ClassVar[str] = "papers.noncontrastive.losses:BarlowTwins"
    term: Literal["barlow-twins"]
    off_diagonal_weight: Positive = 0.0051


class VICRegParameters(TwoViews):
    """VICReg (Bardes et al. 2022; methods 3.1).

    The default weights are those of the paper.

    Args:
        convention: "reference" to scale the parts as in the reference code, "paper" to scale them as in the paper's
            formula. Default: "reference".
        invariance: the weight of the invariance. Default: 25.
        variance: the weight of the variance. Default: 25.
        covariance: the weight of the covariance. Default: 1.
        gamma: the standard deviation that each dimension should reach. Default: 1.
        epsilon: the constant that is added to variances. Default: 1e-4.
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

    Args:
        fraction: the share of tokens to permute.
    """

    of_tokens: ClassVar[bool] = True
    name: Literal["shuffle"]
    fraction: Share


def count_permuted(fraction: float, tokens: int) -> int:
    """Return the number of tokens to permute.

    It is at least two, because a single token cannot move, or 0 if the fraction is 0.

    Args:
        fraction: the share of tokens to permute.
        tokens: the number of tokens, without special tokens.
    """
    return min(tokens, max(2, round(fraction * tokens))) if fraction else 0


def shuffle(ids: Sequence[int], special: Sequence[int], random: Random, *, fraction: float) -> list[int]:
    """Permute a random share of the tokens of a row, at least two.

    The permutation is uniform, so it can be the identity (methods 3.3).

    Args:
        ids: the token ids of the row.
        special: a list of 1 for special tokens, which are not moved and not counted, and 0 for other tokens.
        random: the random generator of the row.
        fraction: the share of tokens to permute.

    Returns:
        List of the permuted token ids.
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    places = random.sample(ordinary, count_permuted(fraction, len(ordinary)))
    moved = list(ids)
    for place, source in zip(sorted(places), places, strict=True):
        moved[place] = ids[source]
    return moved
