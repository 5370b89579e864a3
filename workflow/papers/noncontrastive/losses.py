"""Barlow Twins and VICReg: two views alike dimension by dimension, and no dimension like another (methods 3.1)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term

from . import method as parameters


class BarlowTwins(Term[parameters.BarlowTwinsParameters]):
    """Distance of the cross-correlation of two views from the identity.

    Every dimension is standardised over the batch, each view by itself; off the diagonal squares count
    `off_diagonal_weight`. Nothing is divided by the number of dimensions, as in the reference code.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the sum over the matrix, in the precision of the vectors."""
        views = step.vectors_of((0, 1))
        # The sums run over millions of products: never in half precision (methods 3.2).
        with torch.autocast(views[0].device.type, enabled=False):
            first, second = map(standardised, views)
            rows = len(first)
            diagonal = (first * second).sum(0) / rows
            others = product_squares(first, second) / rows**2 - diagonal.square().sum()
            return (1 - diagonal).square().sum() + self.params.off_diagonal_weight * others


def standardised(vectors: Tensor) -> Tensor:
    """Return (rows, width) vectors with mean 0 and variance 1 in each dimension: BatchNorm without weights."""
    return F.batch_norm(vectors, None, None, training=True)


def product_squares(first: Tensor, second: Tensor) -> Tensor:
    """Return the sum of squares of all entries of `first.T @ second`, for two (rows, width) matrices.

    It is also that of the products of their (rows, rows) Gram matrices, entry by entry; the smaller of the two
    ways is taken, so that a width of 8192 on a batch of 256 never makes a matrix of 67 million entries.
    """
    rows, width = first.shape
    if rows < width:
        return ((first @ first.T) * (second @ second.T)).sum()
    return (first.T @ second).square().sum()


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
