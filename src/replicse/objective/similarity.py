"""Similarities between sentence vectors, in fp32 whatever the precision of the run."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Switch autocast and TF32 off in the block.

    A temperature of 0.05 multiplies the rounding of a cosine by 20. The authors' code calls torch's CosineSimilarity,
    which autocast computes in fp32 (docs of torch.amp, "CUDA Ops that can autocast to float32"); a matrix product of
    the same vectors would be in half precision.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def dot_products(first: Tensor, second: Tensor) -> Tensor:
    """Return the dot product of each row of one matrix with each row of the other, in fp32.

    Args:
        first: sentence vectors, (rows, width), float32 or float64.
        second: sentence vectors, (others, width).

    Returns:
        The products, (rows, others), in the type of the vectors.
    """
    with full_precision(first.device):
        return first @ second.T


def cosines(first: Tensor, second: Tensor) -> Tensor:
    """Return the cosine of each row of one matrix with each row of the other, in fp32.

    Args:
        first: sentence vectors, (rows, width), float32 or float64.
        second: sentence vectors, (others, width).

    Returns:
        The cosines, (rows, others), in the type of the vectors.
    """
    return dot_products(F.normalize(first, dim=-1), F.normalize(second, dim=-1))
