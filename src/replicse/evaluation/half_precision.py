"""An encoder and its scores in half precision, on any CPU in the time that fp32 takes."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

# Functions of torch that ProductsInFp32 computes, by name.
PRODUCTS = ("linear", "scaled_dot_product_attention", "matmul", "bmm", "addmm", "baddbmm")


class ProductsInFp32(TorchFunctionMode):
    """Compute products of half-precision values in fp32 and round them, as a GPU does.

    A CPU without instructions for bf16 and fp16 takes 60 times as long: hours for the seven test sets.
    """

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what a function of torch gives."""
        kwargs = kwargs or {}
        if function.__name__ not in PRODUCTS:
            return function(*args, **kwargs)
        named = {name: _widened(value) for name, value in kwargs.items()}
        return function(*map(_widened, args), **named).to(args[0].dtype)


def _widened(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


def cosines_in(kind: torch.dtype, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows as a library computes it in a precision: normalised, then multiplied."""
    first, second = (F.normalize(torch.from_numpy(side).to(kind), dim=-1) for side in (left, right))
    return (first * second).sum(-1).float().numpy().astype(np.float64)
