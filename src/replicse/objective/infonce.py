"""InfoNCE with in-batch and hard negatives (SimCSE Eq. 1, 5 and 8)."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.errors import BadInput
from replicse.objective.terms import Step, Term, checked_views


class InfoNCE(Term):
    """Cross-entropy of each anchor against all second views and all hard negatives of the batch.

    Of `views` (all of the run by default) the first is the anchor, the second its positive; further ones are
    blocks of hard negatives. Only rows are classified: the loss is not symmetrised, and other anchors are no
    negatives (methods 1.3).
    """

    def __init__(
        self,
        temperature: float = 0.05,
        similarity: str = "cosine",
        hard_negative_weight: float = 1.0,
        views: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        if similarity not in ("cosine", "dot"):
            raise BadInput(f'infonce.similarity is "{similarity}"; expected cosine or dot')
        if temperature <= 0 or hard_negative_weight <= 0:
            raise BadInput(
                f"infonce: temperature {temperature} and hard_negative_weight {hard_negative_weight} must be above 0"
            )
        if views is not None and len(views) < 2:
            raise BadInput(f"infonce.views is {list(views)}; expected an anchor and a positive at least")
        self.views = views
        self.temperature = float(temperature)
        self.similarity = similarity
        self.hard_negative_weight = float(hard_negative_weight)

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the views that are compared."""
        return range(count) if self.views is None else checked_views(self.views, count, "infonce.views")

    def forward(self, step: Step) -> Tensor:
        """Return the mean loss over the batch's anchors."""
        compared = [step.vectors[view] for view in self.vector_views(len(step.vectors))]
        anchors, positives, *negatives = (self._scaled(vectors) for vectors in compared)
        blocks = [anchors @ positives.T]
        for block in negatives:
            logits = anchors @ block.T
            if self.hard_negative_weight != 1:
                # alpha multiplies exp(logit) of the instance's own hard negative only: alpha^[i=j] (methods 1.3).
                logits = logits + math.log(self.hard_negative_weight) * self.temperature * torch.eye(
                    len(logits), device=logits.device
                )
            blocks.append(logits)
        logits = torch.cat(blocks, dim=1) / self.temperature
        return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))

    def _scaled(self, vectors: Tensor) -> Tensor:
        return F.normalize(vectors, dim=-1) if self.similarity == "cosine" else vectors
