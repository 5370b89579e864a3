"""The verb of the workflow: one job of a stage, which is given as JSON what it does."""

import importlib
import logging
from argparse import ArgumentParser, Namespace
from pathlib import Path

from replicse.cli.answers import json_mapping
from replicse.cli.stages import STAGES, Stage
from replicse.files import write_json
from replicse.registry.artefacts import record_file
from replicse.registry.plugins import use_plugins
from replicse.runtime.devices import share

log = logging.getLogger(__name__)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = """example:
  replicse job data '{"source": "embedded"}' --out results/micro/data.json
  replicse job train "$(jq .job results/micro/runs/RUN/provenance.json)" --data results/micro/data.json --out RUN"""
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("payload", type=json_mapping, help="JSON: what the job is given")
    parser.add_argument("--data", type=Path, default=Path(), help="data root or data record")
    parser.add_argument("--out", type=Path, help="the file or folder to write")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: all; train: 1)")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")
    parser.add_argument("--state", type=Path, default=Path("state"), help="train: folder of the resume state")
    parser.add_argument("--processes", type=int, default=1, help="train: processes that share each batch")
    parser.add_argument(
        "--chunk", type=int, default=0, help="train: rows that are encoded at a time (0: all)"
    )
    parser.add_argument("--code", default="", help="train: digest of the code whose saved state is resumed")
    parser.add_argument("--slots", type=int, default=0, help="jobs that share this machine's GPUs (0: any)")
    parser.add_argument("--join", type=int, default=0, help="train: port of the first process of the run")
    parser.add_argument("--made", type=json_mapping, help="JSON: what it is made from, for its record")


def run(arguments: Namespace) -> int | None:
    """Do one job as the workflow does it; what it is given is in the payload, the machine's share in options."""
    stage: Stage = importlib.import_module(f"replicse.cli.stages.{arguments.stage}").STAGE
    share(arguments.slots)
    use_plugins(arguments.payload.get("plugin", ()))
    if arguments.out:  # a job that is killed leaves none
        record_file(arguments.out).unlink(missing_ok=True)
    code = stage.run(stage.check(arguments.payload, arguments.stage), arguments)
    if arguments.made and not code:
        write_json(record_file(arguments.out), arguments.made)
    if arguments.out:
        log.info("wrote=%s", arguments.out)
    return code
