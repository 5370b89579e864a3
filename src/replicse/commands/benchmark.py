"""The verb `benchmark`: how fast this machine trains and encodes what a study needs, stored for `plan`."""

import json
import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from replicse.commands import Action
from replicse.commands.study import add_items_argument, add_study_arguments, chosen_plan
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.study.plan.cost import Measured, Shape, Throughput, encode_shape, sizes_of
from replicse.study.plan.plan import Plan


def benchmark_verb(parser: ArgumentParser) -> Action:
    """Measure some steps of each of a study's largest shapes on this machine; `replicse plan` takes hours from it."""
    add_study_arguments(parser, "replicse benchmark --scale paper --device cuda")
    add_items_argument(parser)
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")
    parser.add_argument("--name", help="how the record is called (default: the processor's or GPU's name)")
    parser.add_argument("--shapes", type=int, default=6, help="so many shapes of training (default 6)")
    parser.add_argument("--steps", type=int, default=50, help="steps of each shape (default 50)")
    parser.add_argument("--seconds", type=float, default=120, help="at most so long for each (default 120)")
    parser.add_argument(
        "--threads", type=int, help="CPU threads (default: those that a job of this scale has)"
    )

    def action(arguments: Namespace) -> None:
        for name, least in (("shapes", 1), ("steps", 2)):
            if getattr(arguments, name) < least:
                raise BadInput(f"--{name} is {getattr(arguments, name)}; expected at least {least}")
        plan = chosen_plan(arguments)
        say = partial(print, file=sys.stderr if arguments.json else None, flush=True)
        record = measured_here(plan, arguments, say)
        name = re.sub("[^a-z0-9]+", "-", record.device.lower()).strip("-")
        file = Path(plan.paths.throughput(f"{name}.json"))
        write_json(file, record.plain())
        say(f"wrote {file}; replicse plan --scale {plan.scale.name} takes its hours from it")
        if arguments.json:
            print(json.dumps(record.plain(), indent=1))

    return action


def measured_here(plan: Plan, arguments: Namespace, say: Callable[[str], None]) -> Throughput:
    """Return what this machine does of the largest shapes of a plan; each is told as it is measured."""
    import torch

    from replicse.provenance.record import commit, computed
    from replicse.runtime.devices import device_for
    from replicse.runtime.machine import hardware
    from replicse.training.benchmark import Bench, attempt

    torch.set_num_threads(arguments.threads or (4 if plan.scale.comparable else 1))
    device = device_for(arguments.device)
    known = plan.shapes()
    chosen = [(shape, run) for shape, runs, _ in known if (run := _plain_run(plan, runs))][: arguments.shapes]
    if device.type == "cpu" and any(shape.precision == "fp16" for shape, _ in chosen):
        raise BadInput(
            "precision fp16 needs a GPU; say --config precision=bf16 or fp32, as in the study itself"
        )
    if not chosen:
        raise BadInput("no run of this study can be measured: the sizes of its encoders are not known")
    names = {shape for shape, _ in chosen}
    share = sum(part for shape, _, part in known if shape in names)
    say(f"{len(chosen)} shapes have {share:.0%} of the operations of the {len(plan.runs)} runs of this study")
    say(f"{'layers':>6}{'width':>6}{'batch':>6}{'length':>7}{'passes':>7} {'precision':<10}rows per second")
    found: list[Measured] = []

    def note(shape: Shape, one: Measured | None) -> None:
        say(told(shape, one))
        found.extend([one] if one else [])

    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch), device, arguments.steps, arguments.seconds, hardware()["memory_gib"])
        for shape, run in chosen:
            spec, fitting = plan.runs[run], bench.fitting(shape)
            generators = [term.generator for term in spec.terms if term.generator_passes()]
            sizes = [sizes_of(plan.sources[folder], plan.sources) for folder in generators]
            if all(fitting != one.shape for one in found):
                note(fitting, attempt(partial(bench.train, spec, fitting, sizes)))
        for sizes in dict.fromkeys((shape.layers, shape.hidden) for shape, _ in chosen):
            note(encode_shape(*sizes), attempt(partial(bench.encode, encode_shape(*sizes))))
    machine = computed(device, "fp32")
    processor = f"{machine['hardware']['processor']}, threads: {machine['threads']}"
    name = arguments.name or machine["accelerator"] or processor
    when = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return Throughput(device=name, when=when, commit=commit()[0], machine=machine, shapes=tuple(found))


def _plain_run(plan: Plan, runs: list[str]) -> str | None:
    """Return a run that made-up sentences can stand in for: of one source, without labels."""
    plain = (run for run in runs if not plan.runs[run].beside)
    return next((run for run in plain if not any(term.task_head() for term in plan.runs[run].terms)), None)


def told(shape: Shape, found: Measured | None) -> str:
    """Return what was measured of a shape as a line; None where the device has too little memory."""
    sizes = f"{shape.layers:>6}{shape.hidden:>6}{shape.batch_size:>6}{shape.max_length:>7}"
    what = "encode" if shape.encode else f"{shape.passes:.2f}"
    rate = (
        f"{found.rows_per_second:,.1f} ({found.low:,.1f} to {found.high:,.1f}, {found.steps} steps)"
        if found
        else "does not fit into the memory of this device"
    )
    return f"{sizes}{what:>7} {shape.precision:<10}{rate}"
