"""fp32 products of a linear layer, forward and backward: oneDNN's private operator against what torch chooses.

    python benchmarks/linear_products.py --out benchmarks/results/linear_products.json

One thread; each figure is the least of many repetitions, the two taken in turn, so that a busy machine slows both.
`encoder/packed/linear.py` chooses by the maker of the processor; this shows whether the choice is right on yours.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.encoder.packed.linear import LIBRARY, OneDnnLinear
from replicse.files import write_json
from replicse.provenance import provenance

# rows of a packed batch, inputs, outputs: micro, compact, six layers of 384, BERT-base
SHAPES = ((320, 64, 256), (700, 128, 512), (1400, 384, 1536), (1400, 768, 3072))
SECONDS = 2.0  # for each shape and kernel


def seconds(product: Callable[..., Tensor], rows: int, inputs: int, outputs: int) -> float:
    """Return the seconds of one product and its gradients."""
    values = torch.randn(rows, inputs, requires_grad=True)
    weight, bias = torch.randn(outputs, inputs, requires_grad=True), torch.zeros(outputs, requires_grad=True)
    start = time.perf_counter()
    result = product(values, weight, bias)
    result.backward(torch.ones_like(result))
    return time.perf_counter() - start


def main() -> None:
    """Time both kernels at every shape and write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    torch.set_num_threads(1)
    measured = []
    for shape in SHAPES:
        times: dict[str, list[float]] = {"oneDNN": [], "torch": []}
        end = time.perf_counter() + 2 * SECONDS
        while time.perf_counter() < end or len(times["torch"]) < 5:
            times["oneDNN"].append(seconds(OneDnnLinear.apply, *shape))
            times["torch"].append(seconds(F.linear, *shape))
        least = {kernel: min(found) for kernel, found in times.items()}
        row = dict(zip(("rows", "inputs", "outputs"), shape, strict=True))
        measured.append(
            {**row, "seconds": least, "oneDNN / torch": round(least["oneDNN"] / least["torch"], 2)}
        )
        print(measured[-1])
    write_json(out, {"chosen": LIBRARY, "measured": measured, "provenance": provenance()})


if __name__ == "__main__":
    main()
