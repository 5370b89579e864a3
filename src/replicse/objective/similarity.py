"""Similarities between sentence vectors.

They are computed in fp32 for every precision of the run.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Disable autocast and TF32 in a `with` block.

    A temperature of 0.05 multiplies the rounding error of a cosine by 20. The authors' code uses torch's
    CosineSimilarity, which autocast computes in fp32 (docs of torch.amp, "CUDA Ops that can autocast to float32"). A
    matrix product of the same vectors would use half precision.

    Args:
        device: The device of the vectors.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def dot_products(first: Tensor, second: Tensor) -> Tensor:
    """Compute the dot products of all pairs of sentence vectors in fp32.

    Args:
        first: Sentence vectors, (rows, width), float32 or float64.
        second: Sentence vectors, (others, width).

    Returns:
        The products, (rows, others), in the dtype of the vectors.
    """
    with full_precision(first.device):
        return first @ second.T


def cosines(first: Tensor, second: Tensor) -> Tensor:
    """Compute the cosines of all pairs of sentence vectors in fp32.

    Args:
        first: Sentence vectors, (rows, width), float32 or float64.
        second: Sentence vectors, (others, width).

    Returns:
        The cosines, (rows, others), in the dtype of the vectors.
    """
    return dot_products(F.normalize(first, dim=-1), F.normalize(second, dim=-1))
