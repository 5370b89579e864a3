"""The precision that a run trains in, and whether a device has it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from replicse.errors import BadInput

# What autocast computes products in, where it is on.
DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
# Ampere: the first GPUs with TF32 (NVIDIA A100 white paper).
AMPERE = (8, 0)


def check_precision(precision: str, device: torch.device) -> None:
    """Raise BadInput if a device cannot train in a precision."""
    if precision not in ("fp16", "tf32"):
        return
    if device.type == "cpu":
        raise BadInput(f"precision {precision} needs a GPU; say precision: bf16 or fp32 in config.yaml")
    if precision == "tf32" and torch.cuda.get_device_capability(device) < AMPERE:
        name = torch.cuda.get_device_name(device)
        raise BadInput(f"precision tf32 needs a GPU from Ampere on, not {name}; say precision: fp32")


def autocast_to(precision: str, device: torch.device) -> torch.autocast:
    """Return the block in which autocast computes in a precision; it does nothing for fp32 and tf32."""
    return torch.autocast(device.type, DTYPES[precision], enabled=precision in ("bf16", "fp16"))


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
