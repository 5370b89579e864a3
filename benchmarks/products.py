"""The limit of an encoder on a machine: rate and number of products.

The rate is measured on matrix products of the encoder's shapes. The limit is the time of the products only. Products of
attention are counted at the rate of the linear layers. Copies, elementwise operations, tokenising and the optimiser are
not included.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.runtime.devices import read_clock

ROWS = 64


def products(hidden: int) -> list[tuple[int, int]]:
    """Return a list of (input size, output size) of a layer's linear maps.

    Args:
        hidden: the width of the encoder.
    """
    return [(hidden, 3 * hidden), (hidden, hidden), (hidden, 4 * hidden), (4 * hidden, hidden)]


def operations(lengths: Sequence[int], layers: int, hidden: int, first_only: bool) -> float:
    """Return the number of floating-point operations of a forward pass.

    Only matrix products are counted.

    Args:
        lengths: the number of tokens of each row.
        layers: the number of layers.
        hidden: the width of the encoder.
        first_only: whether only position 0 is used. If so, all products of the last layer are skipped for other
            positions, except keys and values.
    """
    tokens, squares, rows = sum(lengths), sum(length**2 for length in lengths), len(lengths)
    whole = 24 * hidden**2 * tokens + 4 * hidden * squares
    last = 4 * hidden**2 * tokens + 20 * hidden**2 * rows + 4 * hidden * tokens
    return layers * whole if not first_only else (layers - 1) * whole + last


def libraries(left: Tensor, right: Tensor) -> dict[str, Callable[[], object]]:
    """Return a dict from libraries to functions that compute `left @ right`.

    For fp32 on a CPU, there are three libraries. torch uses the default BLAS (MKL), `F.linear` of an mkldnn tensor uses
    oneDNN, and numpy uses OpenBLAS. Copies into and out of the layout of oneDNN are included.

    Args:
        left: a matrix, (rows, inner).
        right: a matrix, (inner, columns).
    """
    found: dict[str, Callable[[], object]] = {"torch": partial(torch.mm, left, right)}
    if left.device.type == "cpu" and left.dtype == torch.float32:
        transposed = right.T.contiguous()
        found["oneDNN"] = lambda: F.linear(left.to_mkldnn(), transposed).to_dense()
        found["numpy"] = partial(np.matmul, left.numpy(), right.numpy())
    return found


class Rates:
    """The best measured rates of a machine's products, by precision.

    Rates are in operations per second. The fp32 rate uses the fastest of `libraries` for each product. `measure` should
    be called several times between the measurements to compare, so that both run under the same conditions.

    Args:
        hidden: the width of the encoder.
        rows: the number of tokens of a batch.
        backward: whether to include the products of the backward pass.
        device: the device. Default: the CPU.
        clock: function that returns a time in seconds, such as `time.process_time`. Default: the wall clock.
    """

    KINDS = {
        "fp32": (torch.float32, "highest"),
        "fp32 medium": (torch.float32, "medium"),
        "bf16": (torch.bfloat16, "highest"),
        "fp16": (torch.float16, "highest"),
    }

    def __init__(
        self,
        hidden: int,
        rows: int,
        backward: bool,
        device: torch.device | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.shapes, self.backward = products(hidden), backward
        self.device = device or torch.device("cpu")
        self.clock = clock or partial(read_clock, self.device)
        self.rows = max(ROWS, rows // ROWS * ROWS)
        # The minimum time of each product, by precision, library and product.
        self.seconds: dict[tuple[str, str], dict[tuple[int, int], float]] = {}

    def measure(self, kinds: Sequence[str] = ("fp32", "bf16"), repeats: int = 3) -> None:
        """Time each product several times.

        Args:
            kinds: list of keys of `KINDS`. Default: "fp32" and "bf16".
            repeats: the number of measurements of a product. Default: 3.
        """
        for kind in kinds:
            dtype, precision = self.KINDS[kind]
            torch.set_float32_matmul_precision(precision)
            for place, (inputs, outputs) in enumerate(self.shapes):
                sizes = (self.rows, inputs), (outputs, inputs), (self.rows, outputs)
                values, weight, gradient = (torch.randn(size).to(self.device, dtype) for size in sizes)
                pairs = [(values, weight.T), (gradient, weight), (gradient.T, values)]
                for number, (left, right) in enumerate(pairs if self.backward else pairs[:1]):
                    self._time(left, right, kind, (place, number), repeats)
        torch.set_float32_matmul_precision("highest")

    def _time(self, left: Tensor, right: Tensor, kind: str, product: tuple[int, int], repeats: int) -> None:
        for library, multiply in libraries(left, right).items():
            best = self.seconds.setdefault((kind, library), {})
            for _ in range(repeats):
                start = self.clock()
                multiply()
                spent = self.clock() - start
                best[product] = min(spent, best.get(product, spent))

    @property
    def operations(self) -> int:
        """Return the number of operations of all products of a layer."""
        forward = 2 * self.rows * sum(inputs * outputs for inputs, outputs in self.shapes)
        return forward * (3 if self.backward else 1)

    def rates_by_library(self) -> dict[str, float]:
        """Return a dict from libraries to fp32 rates, in GFLOP/s."""
        rates = {}
        for (kind, library), seconds in self.seconds.items():
            if kind == "fp32":
                rates[library] = round(self.operations / sum(seconds.values()) / 1e9, 1)
        return rates

    def rate(self, kind: str) -> float:
        """Return operations per second over all products of a layer.

        Each product uses the fastest library.

        Args:
            kind: a key of `KINDS`.
        """
        timings = [seconds for (name, _), seconds in self.seconds.items() if name == kind]
        return self.operations / sum(min(seconds[product] for seconds in timings) for product in timings[0])

    def record(self) -> dict[str, float]:
        """Return a dict from precisions to rates, in GFLOP/s."""
        kinds = dict.fromkeys(kind for kind, _ in self.seconds)
        return {kind: round(self.rate(kind) / 1e9, 1) for kind in kinds}
