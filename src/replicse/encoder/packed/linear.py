"""Linear layers on packed tokens; for bf16 on a CPU, rows are padded to a multiple of 64."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_ROWS = 64


def linear(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute values weight^T + bias for (n, in) values and an (out, in) weight, as F.linear."""
    if values.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        missing = missing_rows(values)
        if missing:
            return F.linear(F.pad(values, (0, 0, 0, missing)), weight, bias)[: len(values)]
    return F.linear(values, weight, bias)


class Linear(nn.Linear):
    """A linear layer that calls `linear`."""

    def forward(self, values: Tensor) -> Tensor:
        """Return (n, out) values."""
        return linear(values, self.weight, self.bias)


def draw_normal(weight: Tensor, deviation: float, generator: torch.Generator | None = None) -> None:
    """Initialise a weight from N(0, deviation), except on the meta device, where it would take 1.5 s."""
    if not weight.is_meta:
        nn.init.normal_(weight, std=deviation, generator=generator)


def missing_rows(values: Tensor) -> int:
    """Return the number of rows to add to get a multiple of 64; 0 for fewer than 64 rows.

    oneDNN, which computes bf16 products, compiles a kernel for each number of rows. That takes as long as the product
    of a small layer, and packed batches rarely have the same number of rows twice.
    """
    return -len(values) % _ROWS if len(values) >= _ROWS else 0
