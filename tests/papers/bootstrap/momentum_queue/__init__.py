"""ESimCSE (Wu et al. 2022) as a plug-in: repeated word pieces, and negatives of a momentum encoder in a queue."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from tokenizers import Tokenizer

from replicse.checked import Number, Positive, Share
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TermParameters

MOST = 10  # the code draws below this number, whatever the rate


class RepetitionParameters(AugmentationParameters):
    """Tokens written twice in a row: fewer than a share of the row's, and fewer than ten.

    `unit: word` repeats all pieces of a word, which only the tokenizer tells.
    """

    implementation: ClassVar[str] = "momentum_queue:repeated"
    of_tokens: ClassVar[bool] = True
    sees_tokenizer: ClassVar[bool] = True
    name: Literal["repetition"]
    rate: Share
    unit: Literal["piece", "word"] = "piece"


def repeated(
    ids: Sequence[int],
    special: Sequence[int],
    random: Random,
    *,
    rate: float,
    unit: str,
    tokenizer: Tokenizer,
) -> list[int]:
    """Return the ids with k of the pieces or words between the special tokens twice in a row.

    k is drawn from 0 to min(10, int(rate n)) - 1 of a row of n tokens, special ones included; such a row may then be
    longer than it may be before.
    """
    groups: list[list[int]] = []
    for place, token in enumerate(ids):
        inside = unit == "word" and tokenizer.id_to_token(token).startswith("##") and groups
        groups[-1].append(place) if inside else groups.append([place])
    ordinary = [number for number, group in enumerate(groups) if not special[group[0]]]
    most = min(MOST, int(rate * len(ids)))
    count = min(random.randrange(most), len(ordinary)) if most else 0
    twice = set(random.sample(ordinary, count))
    return [
        ids[place] for number, group in enumerate(groups) for place in group * (2 if number in twice else 1)
    ]


class MomentumQueueParameters(TermParameters):
    """Cross-entropy of each anchor against the batch and the keys of earlier batches, `queue` batches of them."""

    implementation: ClassVar[str] = "momentum_queue.loss:MomentumQueue"
    term: Literal["momentum-queue"]
    temperature: Positive = 0.05
    queue: Annotated[Number, Field(ge=0)] = 2.5

    def vector_views(self, count: int) -> Sequence[int]:
        """Return anchor and positive."""
        return (0, 1)

    def named_views(self) -> Iterable[int]:
        """Return anchor and positive."""
        return (0, 1)

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the view whose vectors are queued: the text as it is."""
        return (0,)
