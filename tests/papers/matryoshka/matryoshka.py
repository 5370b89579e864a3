"""Matryoshka representations (Kusupati et al. 2022).

The loss uses the first dimensions of vectors, and some rows are evaluated with the first dimensions only.
"""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from replicse.checked import Count, Positive
from replicse.registry.poolings import PoolingParameters
from replicse.registry.terms import TwoViews

if TYPE_CHECKING:
    from torch import Tensor

    from replicse.encoder.backbone import Hidden
    from replicse.encoder.batch import TokenBatch
    from replicse.encoder.pooling import SentencePooling
    from replicse.objective import Step


class NestedInfoNCEParameters(TwoViews):
    """The sum of InfoNCE over the first dimensions, for several widths.

    The complete vectors are used, too.
    """

    term: Literal["nested-infonce"]
    widths: Annotated[tuple[Count, ...], Field(min_length=1)]
    temperature: Positive = 0.05


def nested_infonce(step: "Step", parameters: NestedInfoNCEParameters) -> "Tensor":
    """Return the sum of the losses, and log the loss of each width."""
    import torch
    from torch.nn.functional import cross_entropy, normalize

    first, second = step.vectors_of((0, 1))
    labels, total = torch.arange(len(first), device=first.device), first.new_zeros(())
    for width in (*parameters.widths, first.shape[1]):
        one, other = (normalize(vectors[:, :width]) for vectors in (first, second))
        loss = cross_entropy(one @ other.T / parameters.temperature, labels)
        step.scalars[f"width {width}"], total = loss, total + loss
    return total


class FirstNumbersParameters(PoolingParameters):
    """The first dimensions of position 0."""

    pooling: Literal["first-numbers"]
    width: Count


def first_numbers(hidden: "Hidden", batch: "TokenBatch", pooling: "SentencePooling") -> "Tensor":
    """Return vectors of shape (rows, width)."""
    return hidden.last[batch.first][:, : pooling.params.width]
