"""The method of ESimCSE (Wu et al. 2022).

It contains repeated words, and a queue of negatives from a momentum encoder.
"""

from collections.abc import Container, Sequence
from random import Random
from typing import ClassVar, Literal, TypeVar

from replicse.augment.lines import each_words
from replicse.checked import Count, Positive, Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TwoViews

MOST_REPEATED = 10  # in the code the number of repetitions is below this number for every rate


Item = TypeVar("Item")


class MomentumQueueParameters(TwoViews):
    """InfoNCE with a queue of negatives (ESimCSE, section 3.2).

    The negatives are vectors of earlier first views from a momentum encoder. `queue` is the number of vectors, always
    the newest.
    """

    implementation: ClassVar[str] = "papers.esimcse.losses:MomentumQueue"
    term: Literal["momentum-queue"]
    temperature: Positive = 0.05
    queue: Count = 160

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the first view, whose vectors are added to the queue."""
        return (0,)


class Repetition(AugmentationParameters):
    """Repetition of random word pieces (as in ESimCSE's code).

    Fewer pieces than a share of the row and fewer than ten are repeated. Tokens are repeated after truncation, so that
    rows may be longer than the maximum.
    """

    of_tokens: ClassVar[bool] = True
    name: Literal["repetition"]
    rate: Share


class WordRepetition(AugmentationParameters):
    """Repetition of random words except the last word.

    The number of repeated words is less than ten, and less than the larger of two and a share of the words.
    """

    name: Literal["word-repetition"]
    rate: Share


def repetition(ids: Sequence[int], special: Sequence[int], random: Random, *, rate: float) -> list[int]:
    """Repeat k random tokens that are not special tokens.

    k is uniform from 0 to min(10, int(rate n)) - 1 for a row of n tokens, including special tokens.

    Args:
        ids: the token ids of a row.
        special: 1 for special tokens, otherwise 0.
        random: the generator of the row.
        rate: the share of tokens.
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    most = min(MOST_REPEATED, int(rate * len(ids)))
    count = min(random.randrange(most), len(ordinary)) if most else 0
    return _repeat_at(ids, set(random.sample(ordinary, count)))


def word_repetition(lines: Sequence[str], *, seed: int, rate: float) -> list[str]:
    """Repeat k random words of each line except the last word.

    k is uniform from 0 to min(10, m, max(2, int(rate m))) - 1 for a line of m words (as in ESimCSE's code).
    """

    def repeat(words: list[str], random: Random) -> list[str]:
        count = random.randrange(min(MOST_REPEATED, len(words), max(2, int(rate * len(words)))))
        return _repeat_at(words, set(random.sample(range(len(words) - 1), count)))

    return each_words(lines, seed, repeat)


def _repeat_at(items: Sequence[Item], places: Container[int]) -> list[Item]:
    """Return the items, with the items at some places twice in a row."""
    repeated = []
    for place, item in enumerate(items):
        repeated.append(item)
        if place in places:
            repeated.append(item)
    return repeated
