"""CoSENT: a ranking loss on pairs with a graded score (Su 2022, https://kexue.fm/archives/8847)."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from replicse.checked import Positive
from replicse.registry.terms import TermParameters

if TYPE_CHECKING:
    from torch import Tensor

    from replicse.objective import Step


class CoSENTParameters(TermParameters):
    """Pairs of a labelled corpus whose order by cosine is that of their labels; `scale` is lambda of its equation 5."""

    term: Literal["cosent"]
    scale: Positive = 20

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the two sentences of a pair."""
        return (0, 1)

    def named_views(self) -> Iterable[int]:
        """Return the two sentences of a pair."""
        return (0, 1)

    def reads_labels(self) -> bool:
        """Return that it does: validate then refuses a corpus without labels."""
        return True


def cosent(step: "Step", parameters: CoSENTParameters) -> "Tensor":
    """Return log(1 + sum of exp(scale (cos_j - cos_i))) over all rows i, j of the batch where i is rated above j."""
    import torch

    first, second = step.vectors_of((0, 1))
    cosines = parameters.scale * torch.cosine_similarity(first, second)
    above = step.labels[:, None] > step.labels[None, :]
    differences = (cosines[None, :] - cosines[:, None])[above]
    return torch.logsumexp(torch.cat([differences.new_zeros(1), differences]), dim=0)
