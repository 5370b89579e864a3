"""The losses Barlow Twins and VICReg (methods 3.1).

They make views equal in each dimension, and decorrelate dimensions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term

from . import method as parameters


class BarlowTwins(Term[parameters.BarlowTwinsParameters]):
    """Distance of the cross-correlation of two views from the identity.

    Each dimension of each view is standardised over the batch. Squares off the diagonal are weighted by
    `off_diagonal_weight`. As in the reference code, the sum is not divided by the number of dimensions.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum in the precision of the vectors."""
        views = step.vectors_of((0, 1))
        # The sums run over millions of products: never in half precision (methods 3.2).
        with torch.autocast(views[0].device.type, enabled=False):
            first, second = standardise(views[0]), standardise(views[1])
            rows = len(first)
            diagonal = (first * second).sum(0) / rows
            others = product_squares(first, second) / rows**2 - diagonal.square().sum()
            return (1 - diagonal).square().sum() + self.params.off_diagonal_weight * others


def standardise(vectors: Tensor) -> Tensor:
    """Standardise each dimension to mean 0 and variance 1.

    This is BatchNorm without weights.

    Args:
        vectors: sentence vectors, (rows, width).
    """
    return F.batch_norm(vectors, None, None, training=True)


def product_squares(first: Tensor, second: Tensor) -> Tensor:
    """Return the sum of squares of all entries of `first.T @ second`.

    It is equal to the sum of the products of the entries of their (rows, rows) Gram matrices. The smaller matrices are
    computed, so that a width of 8192 and a batch of 256 do not need a matrix of 67 million entries.

    Args:
        first: a matrix, (rows, width).
        second: a matrix, (rows, width).
    """
    rows, width = first.shape
    if rows < width:
        return ((first @ first.T) * (second @ second.T)).sum()
    return (first.T @ second).square().sum()


class VICReg(Term[parameters.VICRegParameters]):
    """Weighted sum of invariance, variance and covariance.

    Conventions differ in scale. Invariance is the mean of squared distances over rows in the paper, and also over
    dimensions in the reference code. Variance is the sum of both views in the paper, and their mean in the reference
    code. Covariance is the sum of both views in both, divided by the number of dimensions.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum, in the precision of the vectors."""
        params, (first, second) = self.params, step.vectors_of((0, 1))
        as_printed = params.convention == "paper"
        # The sums run over millions of products: never in half precision (methods 3.2).
        with torch.autocast(first.device.type, enabled=False):
            invariance = F.mse_loss(first, second) * (first.shape[1] if as_printed else 1)
            first_variance, first_covariance = self._spread(first)
            second_variance, second_covariance = self._spread(second)
            variance = torch.stack([first_variance, second_variance]).sum()
            covariance = torch.stack([first_covariance, second_covariance]).sum()
            if not as_printed:
                variance = variance / 2
            return (
                params.invariance * invariance + params.variance * variance + params.covariance * covariance
            )

    def _spread(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return the variance term and the covariance term of one view."""
        rows, width = vectors.shape
        centred = vectors - vectors.mean(0)
        variances = centred.square().sum(0) / (rows - 1)
        variance_term = (self.params.gamma - (variances + self.params.epsilon).sqrt()).relu().mean()
        covariances = product_squares(centred, centred) / (rows - 1) ** 2 - variances.square().sum()
        return variance_term, covariances / width
