"""The verb `benchmark`: how fast this machine trains what a study needs, stored for `plan`."""

import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from replicse.cli.answers import print_json
from replicse.cli.arguments import add_items_argument, add_study_arguments, chosen_study
from replicse.compile.cost import Cost, Speed, row_operations, sizes_of
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.provenance.record import commit, computed
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Run

UNKNOWN = "no run of this study can be measured: the sizes of its encoders are not known"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse benchmark --scale micro")
    add_items_argument(parser)
    parser.add_argument("--device", help="cpu, cuda or cuda:1; default: the first GPU, else the CPU")
    parser.add_argument(
        "--steps", type=int, metavar="N", default=50, help="so many steps of training (default 50)"
    )


def run(arguments: Namespace) -> int:
    """Measure some steps of a study's largest training on this machine; `replicse plan` takes its hours from it."""
    if arguments.steps < 2:
        raise BadInput(f"--steps is {arguments.steps}; expected at least 2")
    plan = chosen_study(arguments)
    say = partial(print, file=sys.stderr if arguments.json else None, flush=True)
    record = measured_here(plan, arguments, say)
    file = Path(plan.paths.throughput(f"{file_name(record.device)}.json"))
    write_json(file, record.plain())
    say(f"wrote {file}; replicse plan --scale {plan.scale.name} takes its hours from it")
    if arguments.json:
        print_json(record.plain())
    return 0


def file_name(device: str) -> str:
    """Return the name of a device as that of a file."""
    return re.sub("[^a-z0-9]+", "-", device.lower()).strip("-")


def measured_here(plan: Study, arguments: Namespace, say: Callable[[str], None]) -> Speed:
    """Return the operations per second of this machine, in the steps of the largest run that can stand for a study."""
    import torch

    from replicse.runtime.devices import device_for
    from replicse.runtime.machine import hardware
    from replicse.training.benchmark import Bench
    from replicse.training.precision import check_precision

    torch.set_num_threads(plan.scale.needs.threads)
    device, run = device_for(arguments.device), largest_run(plan)
    check_precision(run.precision, device)
    size, operations = sizes_of(run.init, plan.sources), row_operations(run, plan.sources)
    models = [sizes_of(plan.sources[model.folder or ""], plan.sources) for model in frozen_models(run.terms)]
    frozen = [each for each in models if each]
    if size is None or operations is None:
        raise BadInput(UNKNOWN)
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch), device, arguments.steps, memory_gib=hardware()["memory_gib"])
        both = run.precision, "fp32" if run.precision != "fp32" else "bf16"
        rates = {each: bench.rate(run.replace(precision=each), size, frozen) for each in both}
    rate = rates[run.precision]
    machine = computed(device, run.precision)
    processor = f"{machine['hardware']['processor']}, threads: {machine['threads']}"
    flops = float(format(rate * operations, ".4g"))
    encoder = f"{size[0]} layers of {size[1]} in {run.precision}"
    say(f"{run.run_id}, {encoder}: {rate:,.1f} rows and {flops:.3g} operations a second")
    speed = Speed(
        device=machine["accelerator"] or processor,
        flops=flops,
        when=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        commit=commit()[0],
        machine=machine,
        rates=rates,
    )
    say("; ".join(speed.precisions(plan.runs.values())))
    return speed


def largest_run(plan: Study) -> Run:
    """Return the run with most operations that made-up sentences can replace: of one source, without labels."""
    costs = {name: cost for name, cost in Cost(plan).operations.items() if cost}
    for name in sorted(costs, key=lambda each: (-costs[each], each)):
        run = plan.runs[name]
        if not run.beside and not any(term.reads_labels() for term in run.terms):
            return run
    raise BadInput(UNKNOWN)
