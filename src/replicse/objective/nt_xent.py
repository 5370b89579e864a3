"""NT-Xent, the symmetric InfoNCE with negatives of both views (Chen et al. 2020)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters


class NTXent(Term[parameters.NTXentParameters]):
    """Cross-entropy of each of the 2B vectors against the 2B - 1 others: the other view of its row is the positive."""

    def forward(self, step: Step) -> Tensor:
        """Return the mean loss over the vectors of both views."""
        first, second = step.vectors_of((0, 1))
        vectors, rows = F.normalize(torch.cat([first, second]), dim=-1), len(first)
        logits = vectors @ vectors.T / self.params.temperature
        itself = torch.eye(len(vectors), dtype=torch.bool, device=logits.device)
        places = torch.arange(len(vectors), device=logits.device)
        return F.cross_entropy(logits.masked_fill(itself, -torch.inf), places.roll(rows))
