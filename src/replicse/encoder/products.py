"""Matrix products of fp32 values on a GPU: exact, or in TF32."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Ampere: the first GPUs with TF32 (NVIDIA A100 white paper).
AMPERE = (8, 0)


def has_tf32(device: torch.device) -> bool:
    """Return whether a device supports TF32.

    Args:
        device: A device of torch.
    """
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= AMPERE


@contextmanager
def matrix_products(precision: str) -> Iterator[None]:
    """Compute fp32 matrix products in a block in TF32, or exactly.

    TF32 has the 10-bit fraction of fp16 and the range of fp32. From torch 1.7 to 1.11 it was the default for
    "fp32" products (torch docs, CUDA semantics, "TensorFloat-32 on Ampere").

    Args:
        precision: "tf32" to use TF32; any other precision for exact products.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
