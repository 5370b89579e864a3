"""ESimCSE's method (Wu et al. 2022): repeated words, and a queue of negatives by a momentum encoder."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar, Literal

from replicse.augment.lines import each_words
from replicse.checked import Count, Positive, Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TwoViews

MOST_REPEATED = 10  # the code draws a number of repetitions below this one, whatever the rate


class MomentumQueueParameters(TwoViews):
    """InfoNCE with further negatives: vectors of earlier first views by the momentum encoder (ESimCSE, section 3.2).

    `queue` is how many of these vectors are kept, the newest ones.
    """

    implementation: ClassVar[str] = "papers.esimcse.losses:MomentumQueue"
    term: Literal["momentum-queue"]
    temperature: Positive = 0.05
    queue: Count = 160

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the first view, whose vectors are queued."""
        return (0,)


class Repetition(AugmentationParameters):
    """Random word pieces twice in a row, fewer than a share of the row's and fewer than ten (ESimCSE as coded).

    Tokens are repeated after a line was cut at its most tokens, so that the row may be longer.
    """

    of_tokens: ClassVar[bool] = True
    name: Literal["repetition"]
    rate: Share


class WordRepetition(AugmentationParameters):
    """Random words twice in a row, but the last one: fewer than a share of them, or than two, and fewer than ten."""

    name: Literal["word-repetition"]
    rate: Share


def repetition(ids: Sequence[int], special: Sequence[int], random: Random, *, rate: float) -> list[int]:
    """Return the ids with k of the tokens between the special ones twice in a row.

    k is drawn evenly from 0 to min(10, int(rate n)) - 1 for a row of n tokens, special ones among them.
    """
    ordinary = [place for place, is_special in enumerate(special) if not is_special]
    most = min(MOST_REPEATED, int(rate * len(ids)))
    count = min(random.randrange(most), len(ordinary)) if most else 0
    twice = set(random.sample(ordinary, count))
    return [token for place, token in enumerate(ids) for token in [token] * (1 + (place in twice))]


def word_repetition(lines: Sequence[str], *, seed: int, rate: float) -> list[str]:
    """Return every line with k of its words but the last twice in a row.

    k is drawn evenly from 0 to min(10, m, max(2, int(rate m))) - 1 for a line of m words (ESimCSE's code).
    """

    def repeat(words: list[str], random: Random) -> list[str]:
        count = random.randrange(min(MOST_REPEATED, len(words), max(2, int(rate * len(words)))))
        twice = set(random.sample(range(len(words) - 1), count))
        return [word for place, word in enumerate(words) for word in [word] * (1 + (place in twice))]

    return each_words(lines, seed, repeat)
