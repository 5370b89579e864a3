"""Barlow Twins: two views correlated dimension by dimension, and no dimension with another (methods 3.1)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters


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
