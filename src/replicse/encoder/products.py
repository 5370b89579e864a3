"""How a GPU computes the matrix products of fp32 values: exactly, or in TF32."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Ampere: the first GPUs with TF32 (NVIDIA A100 white paper).
AMPERE = (8, 0)


def has_tf32(device: torch.device) -> bool:
    """Return whether a device computes products in TF32."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= AMPERE


@contextmanager
def matrix_products(precision: str) -> Iterator[None]:
    """Compute fp32 matrix products of a GPU in TF32 in the block, or exactly for every other precision.

    TF32 has the 10 bits of fp16's fraction and the range of fp32. torch computed "fp32" products in it by default from
    1.7 to 1.11 (torch docs, CUDA semantics, "TensorFloat-32 on Ampere").
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
