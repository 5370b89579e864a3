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
    """Cross-entropy of each anchor against all second views and all hard negatives of the batch.

    Of `views` (all of the run by default) the first is the anchor, the second its positive; further ones are
    blocks of hard negatives. Only rows are classified: the loss is not symmetrised, and other anchors are no
    negatives (methods 1.3).
    """

    def forward(self, step: Step) -> Tensor:
        """Return the mean loss over the batch's anchors; over its parts, where it has several."""
        compared = step.vectors_of(self.params.vector_views(len(step.vectors)))
        scaled = [self._scaled(vectors) for vectors in compared]
        if self.params.parts == 1:
            return self._loss(scaled)
        count = min(self.params.parts, len(scaled[0]))
        parts = zip(*(vectors.tensor_split(count) for vectors in scaled), strict=True)
        return torch.stack([self._loss(part) for part in parts]).mean()

    def _loss(self, compared: Sequence[Tensor]) -> Tensor:
        params, weight = self.params, self.params.hard_negative_weight
        anchors, positives, *negatives = compared
        blocks = [dot_products(anchors, positives)]
        for block in negatives:
            logits = dot_products(anchors, block)
            if weight != 1:
                # alpha multiplies exp(logit) of the instance's own hard negative only: alpha^[i=j] (methods 1.3).
                diagonal = torch.eye(len(logits), device=logits.device)
                logits = logits + math.log(weight) * params.temperature * diagonal
            blocks.append(logits)
        logits = torch.cat(blocks, dim=1) / params.temperature
        return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))

    def _scaled(self, vectors: Tensor) -> Tensor:
        return F.normalize(vectors, dim=-1) if self.params.similarity == "cosine" else vectors
