"""Linear layers on packed tokens, using the faster library of a CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.runtime.machine import multiplies_by_onednn

_ROWS = 64


def linear(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute values weight^T + bias, as F.linear does.

    On a CPU, bf16 values are padded with rows up to complete blocks, and fp32 values are multiplied by oneDNN if it is
    faster there (`multiplies_by_onednn`).

    Args:
        values: Token states, (n, in).
        weight: Weights, (out, in).
        bias: Bias, (out,), or None.

    Returns:
        The outputs, (n, out).
    """
    on_cpu = values.device.type == "cpu"
    if on_cpu and torch.is_autocast_enabled("cpu"):
        missing = missing_rows(values)
        if missing:
            return F.linear(F.pad(values, (0, 0, 0, missing)), weight, bias)[: len(values)]
    elif on_cpu and values.dtype == torch.float32 and _has_onednn():
        return F.linear(values.to_mkldnn(), weight, bias).to_dense()
    return F.linear(values, weight, bias)


def _has_onednn() -> bool:
    """Return whether torch has oneDNN and it is the faster library here."""
    return multiplies_by_onednn() and torch.backends.mkldnn.is_available()


class Linear(nn.Linear):
    """A linear layer that calls `linear`."""

    def forward(self, values: Tensor) -> Tensor:
        """Compute the outputs, (n, out), of values (n, in)."""
        return linear(values, self.weight, self.bias)


def draw_normal(weight: Tensor, deviation: float, generator: torch.Generator | None = None) -> None:
    """Initialise a weight from a normal distribution with mean 0.

    A weight on the meta device is skipped, because that would take 1.5 s.

    Args:
        weight: The weight to initialise in place.
        deviation: The standard deviation.
        generator: The source of random numbers. Default: torch's default generator.
    """
    if not weight.is_meta:
        nn.init.normal_(weight, std=deviation, generator=generator)


def missing_rows(values: Tensor) -> int:
    """Return the number of rows to add to get a multiple of 64.

    oneDNN computes bf16 products and compiles a kernel for each number of rows. That takes as long as the
    product of a small layer, and packed batches rarely have the same number of rows twice.

    Args:
        values: Token states, (n, width).

    Returns:
        The number of rows, 0 for fewer than 64 rows.
    """
    return -len(values) % _ROWS if len(values) >= _ROWS else 0
