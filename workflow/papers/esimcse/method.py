"""The method of ESimCSE (Wu et al. 2022).

The module defines the repetition of words, and the parameters of the loss with a queue of negatives.
"""

from collections.abc import Container, Sequence
from random import Random
from typing import ClassVar, Literal, TypeVar

from replicse.augment.lines import each_words
from replicse.checked import Count, Positive, Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TwoViews

MOST_REPEATED = 10  # in ESimCSE's code fewer than ten words are repeated, whatever the rate


Item = TypeVar("Item")


class MomentumQueueParameters(TwoViews):
    """InfoNCE with a queue of negatives (ESimCSE, section 3.2).

    The negatives in the queue are vectors of earlier first views from a momentum encoder. The default temperature is
    the temperature of SimCSE.

    Attributes:
        temperature: The number by which cosines are divided. Default: 0.05.
        queue: The maximum number of vectors in the queue; the newest are kept. Default: 160.
    """

    implementation: ClassVar[str] = "papers.esimcse.losses:MomentumQueue"
    term: Literal["momentum-queue"]
    temperature: Positive = 0.05
    queue: Count = 160

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the first view, whose vectors are added to the queue."""
        return (0,)


class Repetition(AugmentationParameters):
    """Repetition of random word pieces, as in ESimCSE's code.

    Pieces are repeated after truncation, so rows may be longer than the maximum.

    Attributes:
        rate: The upper bound of the share of pieces that are repeated. Fewer than ten are repeated in any case.
    """

    of_tokens: ClassVar[bool] = True
    name: Literal["repetition"]
    rate: Share


class WordRepetition(AugmentationParameters):
    """Repetition of random words except the last word.

    Attributes:
        rate: The upper bound of the share of words that are repeated. One word may be repeated even if the share
            allows none, and fewer than ten are repeated in any case.
    """

    name: Literal["word-repetition"]
    rate: Share


def repetition(ids: Sequence[int], special: Sequence[int], random: Random, *, rate: float) -> list[int]:
    """Repeat k random tokens that are not special tokens.

    For a row of n tokens, including special tokens, k is uniform from 0 to min(10, int(rate n)) - 1.

    Args:
        ids: The token ids of a row.
        special: For each token, 1 if it is a special token, otherwise 0.
        random: The source of random numbers of the row.
        rate: The upper bound of the share of repeated tokens.

    Returns:
        The token ids; repeated tokens occur twice in a row.
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    most = min(MOST_REPEATED, int(rate * len(ids)))
    count = min(random.randrange(most), len(ordinary)) if most else 0
    return _repeat_at(ids, set(random.sample(ordinary, count)))


def word_repetition(lines: Sequence[str], *, seed: int, rate: float) -> list[str]:
    """Repeat k random words of each line except the last word.

    As in ESimCSE's code, k is uniform from 0 to min(10, m, max(2, int(rate m))) - 1 for a line of m words.

    Args:
        lines: The lines.
        seed: The random seed.
        rate: The upper bound of the share of repeated words.

    Returns:
        The lines; repeated words occur twice in a row.
    """

    def repeat(words: list[str], random: Random) -> list[str]:
        count = random.randrange(min(MOST_REPEATED, len(words), max(2, int(rate * len(words)))))
        return _repeat_at(words, set(random.sample(range(len(words) - 1), count)))

    return each_words(lines, seed, repeat)


def _repeat_at(items: Sequence[Item], places: Container[int]) -> list[Item]:
    """Return a list in which the items at some places occur twice in a row."""
    repeated = []
    for place, item in enumerate(items):
        repeated.append(item)
        if place in places:
            repeated.append(item)
    return repeated
