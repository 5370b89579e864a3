"""Linear layers that are fast on every CPU: torch leaves fp32 products to MKL, which is slow on AMD's."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from replicse.runtime.machine import processor_facts

_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
_AMD = processor_facts().get("vendor_id") == "AuthenticAMD"
# What computes fp32 products on a CPU, for the provenance of a result. Chosen by the maker of the processor and not by
# a measurement, which on a busy machine would choose now this and now that, and with it other last digits.
LIBRARY = "oneDNN" if _ONEDNN and _AMD else "torch"
_ROWS = 64


def linear(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return values weight^T + bias for (n, in) values and an (out, in) weight, as F.linear does.

    In fp32 on a processor of AMD the products are oneDNN's: fp32 throughout as well, and with AVX-512 twice as fast
    forward and 1.2 to 2 times as fast backward as MKL's. On an Intel Xeon with AMX MKL's take 0.5 to 0.7 of their time
    (benchmarks/linear_products.py). In bf16 torch asks oneDNN everywhere.
    """
    on_cpu = values.device.type == "cpu" and values.dtype == weight.dtype == torch.float32
    if LIBRARY == "oneDNN" and on_cpu and values.numel() and not torch.is_autocast_enabled("cpu"):
        return OneDnnLinear.apply(values, weight, bias)
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


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return left right^T + bias."""
    return torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")


def missing_rows(values: Tensor) -> int:
    """Return how many rows lack to a multiple of 64; 0 below 64.

    oneDNN compiles a kernel for each number of rows, which costs as much as the product of a small layer, and
    packed batches rarely have the same number twice.
    """
    return -len(values) % _ROWS if len(values) >= _ROWS else 0


def _filled(values: Tensor) -> Tensor:
    """Return the rows with zero rows behind them, up to a multiple of 64."""
    missing = missing_rows(values)
    if not missing:
        return values
    filled = values.new_empty(len(values) + missing, values.shape[1])
    filled[: len(values)] = values
    filled[len(values) :] = 0
    return filled


class OneDnnLinear(torch.autograd.Function):
    """`F.linear` for (n, in) values, an (out, in) weight and a bias or None, by oneDNN's private operator."""

    @staticmethod
    def forward(ctx: FunctionCtx, values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return (n, out) values."""
        filled = _filled(values)
        ctx.save_for_backward(filled, weight)
        return _product(filled, weight, bias)[: len(values)]

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return the gradients of values, weight and bias, as far as they are asked for."""
        values, weight = ctx.saved_tensors
        needs_values, needs_weight, needs_bias = ctx.needs_input_grad
        filled = _filled(gradient)
        return (
            _product(filled, weight.t())[: len(gradient)] if needs_values else None,
            _product(filled.t(), values.t()) if needs_weight else None,
            gradient.sum(0) if needs_bias else None,
        )
