"""Ranking consistency: two views are to rank the batch alike (RankCSE, Liu et al. 2023)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters

# Of the community implementation: the least probability and, by a slip, the least logarithm of their mean.
LEAST = 1e-7


class RankingConsistency(Term[parameters.RankingConsistencyParameters]):
    """Jensen-Shannon divergence of each row of the similarities of two views from the same column.

    `clamped` follows perceptiveshawty/RankCSE, whose logarithm of the mean distribution is kept above 1e-7: above 0,
    which it never is, so that no mean is compared with and what is left rewards entropy.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the batch's rows."""
        first, second = (F.normalize(vectors, dim=-1) for vectors in step.vectors_of((0, 1)))
        similarities = first @ second.T / self.params.temperature
        rows, columns = similarities.log_softmax(1), similarities.T.log_softmax(1)
        if self.params.clamped:
            rows, columns = (each.exp().clamp(min=LEAST).log() for each in (rows, columns))
            mean = torch.full_like(rows, LEAST)
        else:
            mean = torch.logaddexp(rows, columns) - torch.log(rows.new_tensor(2.0))
        divergences = [(each.exp() * (each - mean)).sum(1) for each in (rows, columns)]
        return torch.stack(divergences).mean()
