"""VICReg: invariance of two views, variance of each dimension, no covariance of any two (methods 3.1)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.barlow_twins import product_squares
from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters


class VICReg(Term[parameters.VICRegParameters]):
    """Weighted sum of invariance, variance and covariance.

    Conventions differ in scale: the paper's invariance is a mean over rows of squared distances, the reference
    code's also over dimensions; the paper adds the variance terms of both views, the reference code averages them.
    Both add the covariance terms, each divided by the number of dimensions.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum, in the precision of the vectors."""
        params, (first, second) = self.params, step.vectors_of((0, 1))
        as_printed = params.convention == "paper"
        # The sums run over millions of products: never in half precision (methods 3.2).
        with torch.autocast(first.device.type, enabled=False):
            invariance = F.mse_loss(first, second) * (first.shape[1] if as_printed else 1)
            spreads = self._spread(first), self._spread(second)
            variance, covariance = (torch.stack(parts).sum() for parts in zip(*spreads, strict=True))
            variance = variance if as_printed else variance / 2
            return (
                params.invariance * invariance + params.variance * variance + params.covariance * covariance
            )

    def _spread(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return the variance term and the covariance term of one view."""
        rows, width = vectors.shape
        centred = vectors - vectors.mean(0)
        variances = centred.square().sum(0) / (rows - 1)
        short = (self.params.gamma - (variances + self.params.epsilon).sqrt()).relu().mean()
        covariances = product_squares(centred, centred) / (rows - 1) ** 2 - variances.square().sum()
        return short, covariances / width
