"""The losses Barlow Twins and VICReg (methods 3.1).

Both make the views equal in each dimension, and decorrelate the dimensions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term

from . import method as parameters


class BarlowTwins(Term[parameters.BarlowTwinsParameters]):
    """Distance between the cross-correlation of two views and the identity.

    Each dimension of each view is standardised over the batch. The squares of off-diagonal elements are weighted by
    `off_diagonal_weight`. As in the reference code, the sum is not divided by the number of dimensions.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum, a scalar in the precision of the vectors."""
        views = step.vectors_of((0, 1))
        # The sums run over millions of products: never in half precision (methods 3.2).
        with torch.autocast(views[0].device.type, enabled=False):
            first, second = standardise(views[0]), standardise(views[1])
            rows = len(first)
            diagonal = (first * second).sum(0) / rows
            others = product_squares(first, second) / rows**2 - diagonal.square().sum()
            return (1 - diagonal).square().sum() + self.params.off_diagonal_weight * others


def standardise(vectors: Tensor) -> Tensor:
    """Standardise each dimension to mean 0 and variance 1 over the batch.

    This is batch normalisation without weights.

    Args:
        vectors: sentence vectors, (rows, width).

    Returns:
        The standardised vectors, (rows, width).
    """
    return F.batch_norm(vectors, None, None, training=True)


def product_squares(first: Tensor, second: Tensor) -> Tensor:
    """Compute the sum of squares of all elements of `first.T @ second`.

    It is equal to the sum of the elementwise product of their Gram matrices, (rows, rows). The function computes the
    smaller matrix, so a width of 8192 and a batch of 256 do not need a matrix of 67 million elements.

    Args:
        first: a matrix, (rows, width).
        second: a matrix, (rows, width).

    Returns:
        The sum, a scalar.
    """
    rows, width = first.shape
    if rows < width:
        return ((first @ first.T) * (second @ second.T)).sum()
    return (first.T @ second).square().sum()


class VICReg(Term[parameters.VICRegParameters]):
    """Weighted sum of invariance, variance and covariance.

    The paper's formula and the reference code use different scales. Invariance: the mean of squared differences over
    rows and dimensions in the reference code, over rows only in the paper. Variance: the mean of both views in the
    reference code, their sum in the paper. Covariance: the sum of both views in both, divided by the number of
    dimensions.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum, a scalar in the precision of the vectors."""
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
