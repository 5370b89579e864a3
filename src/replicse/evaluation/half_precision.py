"""Encode and score in half precision on any CPU, at the speed of fp32."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

# The names of torch functions that ProductsInFp32 computes.
PRODUCTS = ("linear", "scaled_dot_product_attention", "matmul", "bmm", "addmm", "baddbmm")


class ProductsInFp32(TorchFunctionMode):
    """Compute products of half-precision values in fp32 and round them.

    A GPU does the same. A CPU without instructions for bf16 and fp16 would take 60 times as long: hours for the
    seven test sets.
    """

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return the result of a torch function."""
        kwargs = kwargs or {}
        if function.__name__ not in PRODUCTS:
            return function(*args, **kwargs)
        named = {name: _to_fp32(value) for name, value in kwargs.items()}
        return function(*map(_to_fp32, args), **named).to(args[0].dtype)


def _to_fp32(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


def cosines_in(kind: torch.dtype, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute the cosine of each pair of rows in a precision.

    Rows are normalised and then multiplied, as a library would do it.

    Args:
        kind: The precision, such as `torch.bfloat16`.
        left: Array of shape (n, width).
        right: Array of shape (n, width).

    Returns:
        Float64 array of shape (n,).
    """
    first = F.normalize(torch.from_numpy(left).to(kind), dim=-1)
    second = F.normalize(torch.from_numpy(right).to(kind), dim=-1)
    return (first * second).sum(-1).float().numpy().astype(np.float64)
