"""Linear layers on packed tokens: in bf16 on a CPU their rows are filled up to complete blocks."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_ROWS = 64


def linear(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return values weight^T + bias for (n, in) values and an (out, in) weight, as F.linear does."""
    if values.device.type == "cpu" and torch.is_autocast_enabled("cpu") and (missing := missing_rows(values)):
        return F.linear(F.pad(values, (0, 0, 0, missing)), weight, bias)[: len(values)]
    return F.linear(values, weight, bias)


class Linear(nn.Linear):
    """A linear layer on (n, in) values by way of `linear`."""

    def forward(self, values: Tensor) -> Tensor:
        """Return (n, out) values."""
        return linear(values, self.weight, self.bias)


def draw_normal(weight: Tensor, deviation: float, generator: torch.Generator | None = None) -> None:
    """Fill a weight from N(0, deviation), or do nothing on the meta device, where it would cost 1.5 s."""
    if not weight.is_meta:
        nn.init.normal_(weight, std=deviation, generator=generator)


def missing_rows(values: Tensor) -> int:
    """Return how many rows lack to a multiple of 64; 0 below 64.

    oneDNN, which computes bf16 products, compiles a kernel for each number of rows: that costs as much as the product
    of a small layer, and packed batches rarely have the same number twice.
    """
    return -len(values) % _ROWS if len(values) >= _ROWS else 0
