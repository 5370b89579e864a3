"""SNCSE (Wang and Dou 2022): negations as soft negatives.

The loss is a margin loss with two bounds.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from replicse.checked import Positive
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TermParameters

if TYPE_CHECKING:
    from torch import Tensor

    from replicse.objective import Step


class NegationParameters(AugmentationParameters):
    """Insert "not" after the first auxiliary verb, or add a prefix.

    The prefix negates the whole sentence. It is used if there is no auxiliary verb.
    """

    name: Literal["negation"]


def negation(lines: Sequence[str], *, seed: int) -> list[str]:
    """Return the negation of each line as a list."""
    verbs = re.compile(r"\b(is|are|was|were|can|will|has|have|does|do|did)\b", re.IGNORECASE)
    negations = []
    for line in lines:
        negated, replaced = verbs.subn(r"\1 not", line, count=1)
        negations.append(negated if replaced else f"Not so: {line}")
    return negations


class SoftNegativesParameters(TermParameters):
    """Soft negatives: the positive is nearer by a margin from alpha to beta.

    The margin is the difference of the cosines to the anchor (SNCSE, equations 2 and 3). By default, alpha is
    0.1 and beta 0.3.
    """

    term: Literal["soft-negatives"]
    alpha: Positive = 0.1
    beta: Positive = 0.3

    def vector_views(self, count: int) -> Sequence[int]:
        """Return anchor, positive and soft negative."""
        return (0, 1, 2)

    def named_views(self) -> Sequence[int]:
        """Return the same views."""
        return (0, 1, 2)


def soft_negatives(step: "Step", parameters: SoftNegativesParameters) -> "Tensor":
    """Return the mean over the batch by which the bounds are violated."""
    import torch

    anchor, positive, negative = step.vectors_of((0, 1, 2))
    difference = torch.cosine_similarity(anchor, negative) - torch.cosine_similarity(anchor, positive)
    return ((difference + parameters.alpha).relu() + (-difference - parameters.beta).relu()).mean()
