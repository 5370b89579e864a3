"""fp32 products of a linear layer, forward and backward: oneDNN's private operator against what torch chooses.

    python benchmarks/linear_products.py

One thread; each figure is the least of many repetitions, the two taken in turn, so that a busy machine slows both.
`encoder/packed/linear.py` chooses by the maker of the processor; this shows whether the choice is right on yours.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from record import RESULTS, row, write_record
from torch import Tensor

from replicse.encoder.packed.linear import LIBRARY, OneDnnLinear

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


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table."""
    ratios = [case["oneDNN / torch"] for case in found["measured"]]
    # What is chosen must be the faster one, or as fast within what such a measurement wavers.
    right = min(ratios) >= 0.95 if found["chosen"] == "torch" else max(ratios) <= 1.05
    yield row(
        "fp32 products of a linear layer and their gradients, width 64 to 768: time of oneDNN's private operator",
        found["chosen"],
        ratio=f"{min(ratios):.2f}x to {max(ratios):.2f}x that of torch",
        goal="the faster chosen",
        met=right,
    )


def main() -> None:
    """Time both kernels at every shape and write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "linear_products.json")
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
        sizes = dict(zip(("rows", "inputs", "outputs"), shape, strict=True))
        measured.append(
            {**sizes, "seconds": least, "oneDNN / torch": round(least["oneDNN"] / least["torch"], 2)}
        )
        print(measured[-1])
    found = {"chosen": LIBRARY, "measured": measured}
    write_record(out, found, list(lines_of(found)))


if __name__ == "__main__":
    main()
