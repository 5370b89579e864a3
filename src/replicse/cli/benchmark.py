"""The verb `benchmark`: measure this machine's training speed for `plan`."""

import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from replicse.cli.answers import print_json
from replicse.cli.arguments import add_items_argument, add_study_arguments, chosen_study
from replicse.compile.cost import Cost, row_operations
from replicse.compile.lineage import run_sources
from replicse.compile.sizes import sizes_of
from replicse.compile.speed import Speed
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.provenance.record import commit, computed
from replicse.registry.encoders import Precision
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Run

if TYPE_CHECKING:
    from replicse.training.benchmark import Bench

SHAPES = 3
UNKNOWN = "the runs of this study cannot be measured, because the sizes of the encoders are unknown"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse benchmark --scale micro")
    add_items_argument(parser)
    parser.add_argument(
        "--device", help="cpu, cuda or cuda:1; default: the first GPU if torch finds one, else the CPU"
    )
    parser.add_argument("--steps", type=int, metavar="N", default=50, help="steps of each shape; default: 50")


def run(arguments: Namespace) -> int:
    """Measure training steps of the commonest runs on this machine.

    `replicse plan` uses the result to estimate training time.
    """
    if arguments.steps < 2:
        raise BadInput(f"--steps is {arguments.steps}, but should be at least 2")
    plan = chosen_study(arguments)
    say = partial(print, file=sys.stderr if arguments.json else None, flush=True)
    record = measured_here(plan, arguments, say)
    file = Path(plan.paths.throughput(f"{file_name(record.device)}.json"))
    write_json(file, record.plain())
    say(f"wrote {file}; replicse plan --scale {plan.scale.name} uses it to estimate hours")
    if arguments.json:
        print_json(record.plain())
    return 0


def file_name(device: str) -> str:
    """Convert the name of a device to a file name: a-z, 0-9 and hyphens."""
    return re.sub("[^a-z0-9]+", "-", device.lower()).strip("-")


def measured_here(plan: Study, arguments: Namespace, say: Callable[[str], None]) -> Speed:
    """Measure operations per second of the commonest training steps.

    To compare precisions, the first shape is measured in a second precision too.

    Args:
        plan: the study.
        arguments: the parsed arguments; `steps` is the number of steps of each shape, `device` the device to use.
        say: a function that prints a line of progress.

    Returns:
        The speed by precision, with device, date, commit and the list of measured shapes.
    """
    import torch

    from replicse.runtime.devices import device_for
    from replicse.runtime.machine import hardware
    from replicse.training.benchmark import Bench
    from replicse.training.precision import check_precision

    torch.set_num_threads(plan.scale.needs.threads)
    device, runs = device_for(arguments.device), commonest_runs(plan)
    for run in runs:
        check_precision(run.precision, device)
    first = runs[0]
    other: Precision = "fp32" if first.precision != "fp32" else "bf16"
    shapes = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch), device, arguments.steps, memory_gib=hardware()["memory_gib"])
        for run in (*runs, first.replace(precision=other)):
            shape = measured_shape(bench, plan, run)
            shapes.append(shape)
            say(f"{run.run_id}, {shape_text(shape)}")
    machine = computed(device, first.precision)
    processor = f"{machine['hardware']['processor']}, threads: {machine['threads']}"
    speed = Speed(
        device=machine["accelerator"] or processor,
        flops=mean_flops(shapes),
        when=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        commit=commit()[0],
        machine=machine,
        rates={shape["precision"]: shape["rows_per_second"] for shape in (shapes[0], shapes[-1])},
        shapes=tuple(shapes),
    )
    say("; ".join(speed.precisions(plan.runs.values())))
    return speed


def measured_shape(bench: "Bench", plan: Study, run: Run) -> dict[str, Any]:
    """Measure rows and operations per second of the steps of a run.

    Args:
        bench: the benchmark to use.
        plan: the study.
        run: the run whose steps are measured; the size of the encoder must be known.

    Returns:
        A dict with the shape (`layers`, `hidden`, `batch_size`, `views`, `precision`), `rows_per_second` and `flops`.
    """
    size, operations = known_size(plan, run), row_operations(run, run_sources(plan))
    assert operations is not None
    models = []
    for model in frozen_models(run.terms):
        model_size = sizes_of(run_sources(plan)[model.folder or ""], run_sources(plan))
        if model_size:
            models.append(model_size)
    rate = bench.rate(run, size, models)
    return {
        "layers": size[0],
        "hidden": size[1],
        "batch_size": run.optimisation.batch_size,
        "views": len(run.views),
        "precision": run.precision,
        "rows_per_second": rate,
        "flops": float(format(rate * operations, ".4g")),
    }


def shape_text(shape: Mapping[str, Any]) -> str:
    """Describe a measured shape in one line.

    Args:
        shape: a dict that `measured_shape` returned.
    """
    encoder = (
        f"{shape['layers']} layers of {shape['hidden']}, batch {shape['batch_size']}, {shape['precision']}"
    )
    return f"{encoder}: {shape['rows_per_second']:,.1f} rows and {shape['flops']:.3g} operations a second"


def mean_flops(shapes: Iterable[Mapping[str, Any]]) -> dict[Precision, float]:
    """Compute operations per second by precision, as geometric means.

    Args:
        shapes: dicts that `measured_shape` returned.
    """
    by_precision: dict[Precision, list[float]] = {}
    for shape in shapes:
        by_precision.setdefault(shape["precision"], []).append(shape["flops"])
    return {name: float(f"{geometric_mean(flops):.4g}") for name, flops in by_precision.items()}


def commonest_runs(plan: Study) -> list[Run]:
    """Select one run for each of the commonest shapes, commonest first.

    A shape consists of encoder size, batch size, length, number of views and precision. If several runs have the same
    shape, the run with most operations is selected. The benchmark uses generated sentences, so runs with labels or with
    several corpora are skipped.

    Args:
        plan: the study.

    Returns:
        A list of at most three runs.

    Raises:
        BadInput: if there is no such run.
    """
    by_shape: dict[tuple[object, ...], list[str]] = {}
    for name, cost in Cost(plan).operations.items():
        run = plan.runs[name]
        if not cost or run.beside or any(term.reads_labels() for term in run.terms):
            continue
        options = run.optimisation
        shape = known_size(plan, run), options.batch_size, options.max_length, len(run.views), run.precision
        by_shape.setdefault(shape, []).append(name)
    operations = Cost(plan).operations
    largest = [max(names, key=lambda name: (operations[name] or 0, name)) for names in by_shape.values()]
    counts = dict(zip(largest, map(len, by_shape.values()), strict=True))
    largest.sort(key=lambda name: (-counts[name], -(operations[name] or 0), name))
    if not largest:
        raise BadInput(UNKNOWN)
    return [plan.runs[name] for name in largest[:SHAPES]]


def known_size(plan: Study, run: Run) -> tuple[int, int]:
    """Return the number of layers and the hidden size of a run's encoder.

    Raises BadInput if they are unknown.
    """
    size = sizes_of(run.init, run_sources(plan))
    if size is None:
        raise BadInput(UNKNOWN)
    return size
