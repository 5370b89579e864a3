"""Time and memory of Barlow Twins and VICReg against their direct forms.

    python benchmarks/dimension_contrast.py [--rows 256] [--width 8192] [--repeats 9]

A step computes the loss of two projected views and the gradients. The direct forms follow the formulas: they compute a
(width, width) matrix, its diagonal, and the squares of its other elements. Both forms use the same vectors and
alternate, and their losses and gradients must agree. Peak memory is the additional memory during a step. On a GPU it is
the memory of torch's allocator, on a CPU the memory of the process (Linux). Prints medians and ratios and writes
benchmarks/results/dimension_contrast.json.
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch
from pydantic import TypeAdapter
from record import RESULTS, row, write_record

from replicse.objective import Step
from replicse.objective.terms import make_term
from replicse.registry.plugins import use_plugins
from replicse.registry.terms import Term

MIB = 2**20


def beside_diagonal(matrix):
    return matrix - matrix.diagonal().diag()


def direct_barlow_twins(views):
    first, second = ((view - view.mean(0)) / (view.var(0, unbiased=False) + 1e-5).sqrt() for view in views)
    matrix = first.T @ second / len(first)
    return (1 - matrix.diagonal()).square().sum() + 0.0051 * beside_diagonal(matrix).square().sum()


def direct_vicreg(views):
    loss = 25 * (views[0] - views[1]).square().mean()
    for view in views:
        centred = view - view.mean(0)
        matrix = centred.T @ centred / (len(view) - 1)
        loss = loss + 12.5 * (1 - (matrix.diagonal() + 1e-4).sqrt()).relu().mean()
        loss = loss + beside_diagonal(matrix).square().sum() / view.shape[1]
    return loss


def ours(name):
    term = make_term(TypeAdapter(Term).validate_python({"term": name}))
    model: Any = None  # neither term uses a model
    return lambda views: term(Step(vectors=views, columns=[], model=model, generator=torch.Generator()))


DIRECT = {"barlow-twins": direct_barlow_twins, "vicreg": direct_vicreg}


class PeakMemory:
    """Peak memory within the block, in MiB above the memory at the start."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"

    def __enter__(self):
        if self.gpu:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated()
        else:
            Path("/proc/self/clear_refs").write_text("5")
            self.before = self.status("VmRSS")
        return self

    def __exit__(self, *_):
        if self.gpu:
            torch.cuda.synchronize()
        self.mib = (
            (torch.cuda.max_memory_allocated() if self.gpu else self.status("VmHWM")) - self.before
        ) / MIB

    @staticmethod
    def status(key):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


def step(loss, views):
    start = time.perf_counter()
    with PeakMemory(views[0].device) as memory:
        value = loss(views)
        gradients = torch.autograd.grad(value, views)
    return float(value.detach()), gradients, time.perf_counter() - start, memory.mib


def differences(one, other):
    """Return the relative differences of the losses and of the gradients.

    Args:
        one: the result of `step`: loss, gradients, seconds and MiB.
        other: the result to compare with.
    """
    gradient = max(
        float((left - right).norm() / right.norm()) for left, right in zip(one[1], other[1], strict=True)
    )
    return abs(one[0] - other[0]) / abs(other[0]), gradient


def compared(name, views, repeats):
    forms = {"ours": ours(name), "direct": DIRECT[name]}
    runs: dict[str, list[tuple[float, float]]] = {form: [] for form in forms}
    worst = (0.0, 0.0)
    for repeat in range(repeats + 1):
        steps = {form: step(loss, views) for form, loss in forms.items()}
        worst = tuple(map(max, worst, differences(steps["ours"], steps["direct"])))
        if repeat:  # the first repeat is a warm-up
            for form, (_, _, seconds, mib) in steps.items():
                runs[form].append((seconds, mib))
    if max(worst) > 1e-5:
        raise SystemExit(f"{name}: loss and gradients differ by {worst}")
    found: dict[str, Any] = {
        form: {
            "seconds": round(median(seconds for seconds, _ in each), 4),
            "peak_mib": round(max(mib for _, mib in each), 1),
        }
        for form, each in runs.items()
    }
    found |= {
        f"{key}_share": round(found["ours"][key] / found["direct"][key], 3) for key in ("seconds", "peak_mib")
    }
    return {**found, "loss_difference": worst[0], "gradient_difference": worst[1]}


def lines_of(found: dict) -> Iterator[dict]:
    """Yield the rows of the record's table."""
    for name in DIRECT:
        ours, direct = found[name]["ours"], found[name]["direct"]
        yield row(
            f"a step of {name}, {found['batch']:,} x {found['width']:,}: seconds (MiB)",
            f"{ours['seconds']:.2f} ({ours['peak_mib']:.0f})",
            f"{direct['seconds']:.2f} ({direct['peak_mib']:,.0f}), with the matrices",
            ratio=f"{direct['seconds'] / ours['seconds']:.0f}x",
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--width", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, default=RESULTS / "dimension_contrast.json")
    options = parser.parse_args()
    use_plugins([])
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    generator = torch.Generator().manual_seed(0)
    first, noise = torch.randn(2, options.rows, options.width, generator=generator)
    views = [view.to(device).requires_grad_() for view in (first, first + 0.5 * noise)]
    found = {name: compared(name, views, options.repeats) for name in DIRECT}
    for name, numbers in found.items():
        print(name, numbers)
    settings = {"batch": options.rows, "width": options.width, "repeats": options.repeats}
    gpu = torch.cuda.get_device_name() if device.type == "cuda" else ""
    record = {**settings, "device": device.type, "threads": torch.get_num_threads(), **found}
    write_record(options.out, record, list(lines_of(record)), gpu)


if __name__ == "__main__":
    main()
