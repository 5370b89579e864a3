"""BYOL for sentences as a plug-in.

The augmentation doubles words; the momentum encoder computes the target.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import ClassVar, Literal

from tokenizers import Tokenizer

from replicse.checked import Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TermParameters


class DoubledParameters(AugmentationParameters):
    """Write words twice in a row, with all of their pieces.

    The tokenizer is needed to find the pieces of a word.
    """

    implementation: ClassVar[str] = "bootstrap:doubled"
    of_tokens: ClassVar[bool] = True
    sees_tokenizer: ClassVar[bool] = True
    name: Literal["doubled"]
    rate: Share


def doubled(
    ids: Sequence[int], special: Sequence[int], random: Random, *, rate: float, tokenizer: Tokenizer
) -> list[int]:
    """Return token ids, with each word repeated with probability `rate`.

    Special tokens are not repeated.

    Args:
        ids: List of token ids.
        special: 1 for each special token, else 0.
        random: Random generator of the line.
        rate: Probability of a repetition.
        tokenizer: The tokenizer, used to find pieces of a word.
    """
    words: list[list[int]] = []
    for place, token in enumerate(ids):
        inside = tokenizer.id_to_token(token).startswith("##") and words
        words[-1].append(place) if inside else words.append([place])
    places: list[int] = []
    for word in words:
        times = 1 if special[word[0]] or random.random() >= rate else 2
        places += word * times
    return [ids[place] for place in places]


class BootstrapParameters(TermParameters):
    """Predict the vector of view 2 in the momentum encoder from view 1.

    Grill et al. (2020).
    """

    implementation: ClassVar[str] = "bootstrap.loss:Bootstrap"
    term: Literal["bootstrap"]

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the view that is trained."""
        return (0,)

    def named_views(self) -> Iterable[int]:
        """Return both views."""
        return (0, 1)

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the view that is the target."""
        return (1,)
