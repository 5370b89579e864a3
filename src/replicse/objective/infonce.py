"""InfoNCE with in-batch and hard negatives (SimCSE Eq. 1, 5 and 8)."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.similarity import dot_products
from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters


class InfoNCE(Term[parameters.InfoNCEParameters]):
    """Cross-entropy of anchors against second views and hard negatives.

    Each anchor is compared with all second views and all hard negatives of the batch.

    The first of `views` (default: all views of the run) is the anchor and the second the positive; each
    further view is a block of hard negatives. The loss is not symmetrised, and other anchors are not used as
    negatives (methods 1.3).

    Args:
        parameters: Temperature, similarity, views, parts, and the weight of hard negatives.
    """

    def forward(self, step: Step) -> Tensor:
        """Compute the mean loss over the anchors.

        If the batch is split into several parts, this is the mean over the parts.

        Args:
            step: The inputs of the term.

        Returns:
            A scalar tensor.
        """
        compared = step.vectors_of(self.params.vector_views(len(step.vectors)))
        if self.params.similarity == "cosine":
            compared = [F.normalize(vectors, dim=-1) for vectors in compared]
        if self.params.parts == 1:
            return self._compute_loss(compared)
        count = min(self.params.parts, len(compared[0]))
        split_views = [vectors.tensor_split(count) for vectors in compared]
        losses = [self._compute_loss(part) for part in zip(*split_views, strict=True)]
        return torch.stack(losses).mean()

    def _compute_loss(self, compared: Sequence[Tensor]) -> Tensor:
        params, weight = self.params, self.params.hard_negative_weight
        anchors, positives, *negatives = compared
        blocks = [dot_products(anchors, positives)]
        for block in negatives:
            logits = dot_products(anchors, block)
            if weight != 1:
                # alpha multiplies exp(logit) only for the hard negative of the same row: alpha^[i=j] (methods 1.3).
                diagonal = torch.eye(len(logits), device=logits.device)
                logits = logits + math.log(weight) * params.temperature * diagonal
            blocks.append(logits)
        logits = torch.cat(blocks, dim=1) / params.temperature
        return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))
