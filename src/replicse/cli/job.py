"""The workflow's verb `job`: run a job from its specification."""

import importlib
import logging
import os
import resource
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.cli.stages import STAGES, Stage
from replicse.compile.copies import check_inputs, write_copy
from replicse.compile.job import copy_of, output_place
from replicse.errors import BadInput, check_known
from replicse.files import read_json
from replicse.registry.artefacts import DATA
from replicse.registry.plugins import use_plugins
from replicse.runtime.devices import take_device

log = logging.getLogger(__name__)
KEYS = {"stage": str, "id": str, "digests": dict, "payload": dict, "inputs": list, "outputs": list}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = """example:
  replicse job results/micro/jobs/data.json
  replicse job results/micro/jobs/train/RUN.json --threads 2"""
    parser.add_argument(
        "specification", type=Path, help="the specification of the job, written by the workflow"
    )
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; default: all, or 1 for train")
    parser.add_argument(
        "--device", help="cpu, cuda, cuda:1, ...; default: the first GPU if torch finds one, else the CPU"
    )
    parser.add_argument(
        "--processes", type=int, default=1, help="train: processes that share each batch; default: 1"
    )
    parser.add_argument(
        "--chunk", type=int, default=0, help="train: number of rows to encode together; default: 0 (all)"
    )
    parser.add_argument("--join", type=int, default=0, help="train: port of the first process of the run")


def run(arguments: Namespace) -> int | None:
    """Run a job, then copy the job specification next to the outputs.

    Args:
        arguments: the parsed arguments with the specification, threads, device and processes.

    Returns:
        The exit code of the stage; None means success.
    """
    specification = read_specification(arguments.specification)
    name = specification["stage"]
    stage: Stage = importlib.import_module(f"replicse.cli.stages.{name}").STAGE
    if stage.uses_gpu and not arguments.device and is_single_process(arguments):
        take_device(os.environ)
    payload, results = specification["payload"], results_folder(arguments.specification, specification)
    use_plugins(payload.get("plugin", ()))
    arguments.out = output_place(name, specification["outputs"])
    arguments.data = results / DATA
    arguments.state = results / "state" / specification["id"]
    arguments.code = specification["digests"].get("code", "")
    check_inputs(specification["inputs"])
    copy = copy_of(name, arguments.out)
    # Remove the old copy first, so that a killed job does not look finished.
    copy.unlink(missing_ok=True)
    code = stage.run(stage.check(payload, str(arguments.specification)), arguments)
    if not code and not arguments.join:
        write_copy(copy, specification)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds, peak_mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    log.info("wrote=%s cpu_seconds=%.1f peak_mib=%.0f", arguments.out, cpu_seconds, peak_mib)
    return code


def is_single_process(arguments: Namespace) -> bool:
    """Return whether a job has one process.

    If a run has several processes, they choose devices together.
    """
    count = max(arguments.processes, int(os.environ.get("WORLD_SIZE", "1")))
    return count == 1 and not arguments.join


def read_specification(file: Path) -> dict[str, Any]:
    """Load and check the specification of a job.

    Args:
        file: a JSON file below results/SCALE/jobs.

    Returns:
        A dict with the keys of `KEYS`.

    Raises:
        BadInput: if the file is not a job specification.
    """
    document = read_json(file)
    if not isinstance(document, Mapping):
        raise BadInput(f"{file}: not the specification of a job; use a file below results/SCALE/jobs")
    for key, kind in KEYS.items():
        if not isinstance(document.get(key), kind):
            raise BadInput(f'{file}: "{key}" is missing or wrong; run the study again to rewrite the file')
    check_known(document["stage"], STAGES, f'{file}: stage is "{document["stage"]}"')
    if not document["outputs"]:
        raise BadInput(f'{file}: "outputs" is empty; run the study again to rewrite the file')
    return dict(document)


def results_folder(file: Path, specification: Mapping[str, Any]) -> Path:
    """Return the results folder where the specification of a job is stored."""
    depth = 1 + len(Path(specification["stage"], specification["id"]).parts)
    return file.parents[depth - 1]
