"""The verb `benchmark`: how fast this machine trains what a study needs, stored for `plan`."""

import re
import sys
import tempfile
import textwrap
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from replicse.commands import Action, print_json, room
from replicse.commands.study import add_items_argument, add_study_arguments, chosen_plan
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.printable import columns
from replicse.provenance.record import commit, computed, versions
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Run
from replicse.study.plan.cost import Cost, Speed, row_operations, sizes_of
from replicse.study.plan.plan import Plan

if TYPE_CHECKING:
    from replicse.training.self_test import Row


def benchmark_verb(parser: ArgumentParser) -> Action:
    """Measure some steps of a study's largest training on this machine; `replicse plan` takes its hours from it."""
    add_study_arguments(parser, "replicse benchmark --scale paper --device cuda")
    add_items_argument(parser)
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")
    parser.add_argument("--name", help="how the record is called (default: the processor's or GPU's name)")
    parser.add_argument(
        "--self-test", action="store_true",
        help="check this device instead: losses, gradients, kernels, speed; exit 1 where one is out of its range",
    )  # fmt: skip
    parser.add_argument(
        "--steps", type=int, help="so many steps of training (default 50; of the self-test 200)"
    )
    parser.add_argument(
        "--seconds", type=float, help="at most so long (default 120; of the self-test 30 a side)"
    )
    parser.add_argument(
        "--threads", type=int, help="CPU threads (default: those that a job of this scale has)"
    )

    def action(arguments: Namespace) -> int:
        if arguments.steps is not None and arguments.steps < 2:
            raise BadInput(f"--steps is {arguments.steps}; expected at least 2")
        plan = chosen_plan(arguments)
        say = partial(print, file=sys.stderr if arguments.json else None, flush=True)
        if arguments.self_test:
            return self_tested(plan, arguments, say)
        record = measured_here(plan, arguments, say)
        file = Path(plan.paths.throughput(f"{file_name(record.device)}.json"))
        write_json(file, record.plain())
        say(f"wrote {file}; replicse plan --scale {plan.scale.name} takes its hours from it")
        if arguments.json:
            print_json(record.plain())
        return 0

    return action


def file_name(device: str) -> str:
    """Return the name of a device as that of a file."""
    return re.sub("[^a-z0-9]+", "-", device.lower()).strip("-")


def self_tested(plan: Plan, arguments: Namespace, say: Callable[[str], None]) -> int:
    """Check this device row by row, write the record, and return 1 where a row is out of its range."""
    import torch

    from replicse.runtime.devices import device_for
    from replicse.training.self_test import EXTENTS, SelfTest

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = device_for(arguments.device)
    usual = EXTENTS.get(device.type, EXTENTS["cpu"])
    extent = replace(usual, steps=arguments.steps or usual.steps, seconds=arguments.seconds or usual.seconds)
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as scratch:
        for row in SelfTest(Path(scratch), device, extent).rows():
            rows.append(row)
            print(f"{row.verdict:8}{row.what}", file=sys.stderr, flush=True)
    machine, (revision, dirty) = computed(device, "fp32"), commit()
    name = arguments.name or machine["accelerator"] or machine["hardware"]["processor"]
    document = {
        "device": name,
        "seconds": round(time.monotonic() - start),
        "when": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": revision,
        "dirty": dirty,
        "versions": versions(),
        "machine": machine,
        "rows": [asdict(row) for row in rows],
    }
    file = Path(plan.paths.throughput("self-test", f"{file_name(name)}.json"))
    write_json(file, document)
    if arguments.json:
        print_json(document)
    else:
        print("\n".join(self_test_lines(rows)))
    outside = sum(row.verdict == "outside" for row in rows)
    say(f"out of range: {outside or 'none'}; wrote {file}\n(docs/speed.md says how to share it)")
    return int(outside > 0)


def self_test_lines(rows: Sequence["Row"]) -> Iterator[str]:
    """Yield the table of a self-test, the notes of a row below it."""
    table: list[Sequence[str] | str] = [("", "check", "here", "expected")]
    for row in rows:
        table.append((row.verdict, row.what, row.value, row.expected))
        if row.note:
            indent = " " * 9
            table += textwrap.wrap(row.note, room(), initial_indent=indent, subsequent_indent=indent)
    return columns(table)


def measured_here(plan: Plan, arguments: Namespace, say: Callable[[str], None]) -> Speed:
    """Return the operations per second of this machine, in the steps of the largest run that can stand for a study."""
    import torch

    from replicse.runtime.devices import device_for
    from replicse.runtime.machine import hardware
    from replicse.training.benchmark import Bench

    torch.set_num_threads(arguments.threads or (4 if plan.scale.comparable else 1))
    device, run = device_for(arguments.device), largest_run(plan)
    if device.type == "cpu" and run.precision == "fp16":
        raise BadInput(
            "precision fp16 needs a GPU; say --config precision=bf16 or fp32, as in the study itself"
        )
    layers, width = sizes_of(run.init, plan.sources)
    models = frozen_models(run.terms)
    frozen = [sizes_of(plan.sources[model.folder or ""], plan.sources) for model in models]
    with tempfile.TemporaryDirectory() as scratch:
        steps, seconds = arguments.steps or 50, arguments.seconds or 120
        bench = Bench(Path(scratch), device, steps, seconds, hardware()["memory_gib"])
        rate = bench.rate(run, (layers, width), frozen)
    machine = computed(device, run.precision)
    processor = f"{machine['hardware']['processor']}, threads: {machine['threads']}"
    flops = float(format(rate * row_operations(run, plan.sources), ".4g"))
    encoder = f"{layers} layers of {width} in {run.precision}"
    say(f"{run.run_id}, {encoder}: {rate:,.1f} rows and {flops:.3g} operations a second")
    return Speed(
        device=arguments.name or machine["accelerator"] or processor,
        flops=flops,
        when=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        commit=commit()[0],
        machine=machine,
    )


def largest_run(plan: Plan) -> Run:
    """Return the run with most operations that made-up sentences can replace: of one source, without labels."""
    costs = {name: cost for name, cost in Cost(plan).operations.items() if cost}
    for name in sorted(costs, key=lambda each: (-costs[each], each)):
        run = plan.runs[name]
        if not run.beside and not any(term.reads_labels() for term in run.terms):
            return run
    raise BadInput("no run of this study can be measured: the sizes of its encoders are not known")
