"""The verb that trains one run."""

import json
import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from replicse.commands import Action, json_mapping
from replicse.errors import BadInput, Failed, MissingData
from replicse.files import read_json, write_json
from replicse.registry.plugins import use_plugins
from replicse.runtime.locks import HOLDER

if TYPE_CHECKING:
    from replicse.training.processes import Processes

log = logging.getLogger(__name__)


def train_verb(parser: ArgumentParser) -> Action:
    """Train a run from its job; a run that was stopped resumes where it was."""
    parser.epilog = (
        'example:\n  replicse train --job "$(jq .job results/micro/runs/RUN/provenance.json)"'
        " --data results/micro/data.json --state results/micro/state/RUN --out results/micro/runs/RUN"
    )
    parser.add_argument(
        "--job", type=json_mapping, required=True, help="JSON: the run's spec and the files it depends on"
    )
    parser.add_argument("--data", type=Path, required=True, help="data root or data record")
    parser.add_argument("--state", type=Path, required=True, help="folder of the resume state")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads; part of the provenance (default 1)"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="processes that share each batch, one a GPU (default 1, or those of torchrun); same gradients",
    )
    parser.add_argument(
        "--chunk",
        type=int,
        default=0,
        help="encode at most so many rows at a time, to save memory; same gradients",
    )
    parser.add_argument(
        "--code", default="", help="digest of the run's code: a state saved by other code is dropped"
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")

    def action(arguments: Namespace) -> None:
        from replicse.training.processes import started

        use_plugins(arguments.job.get("plugin", ()))
        if arguments.processes < 0 or arguments.chunk < 0:
            raise BadInput(
                f"--processes {arguments.processes} --chunk {arguments.chunk}: expected no less than 0"
            )
        with (
            started(arguments.processes, _words(arguments)) as processes,
            failing_once(arguments.state, processes.rank),
        ):
            _train(arguments, processes)

    return action


@contextmanager
def failing_once(state: Path, rank: int) -> Iterator[None]:
    """Let retries of one start of the study end at once after a failure that would only come again.

    A guard and bad input fail alike each time; a lost node, a full memory and a file that is not there yet do not.
    """
    note = state / "failed.json"
    started = HOLDER.stat().st_mtime if HOLDER.is_file() else float("inf")
    if note.is_file() and note.stat().st_mtime >= started:
        before = read_json(note)
        raise (BadInput if before["bad_input"] else Failed)(before["sentence"])
    try:
        yield
    except MissingData:
        raise
    except (BadInput, Failed) as error:
        if not rank:
            write_json(note, {"sentence": str(error), "bad_input": isinstance(error, BadInput)})
        raise


def _words(arguments: Namespace) -> list[str]:
    """Return the words of the command line that say the same."""
    named = {name: value for name, value in vars(arguments).items() if value is not None}
    named["job"] = json.dumps(arguments.job)
    return ["train", *(f"--{name}={value}" for name, value in named.items())]


def _train(arguments: Namespace, processes: "Processes") -> None:
    """Train the run of a job; of several processes the first writes."""
    import torch

    from replicse.data.sets import data_folder
    from replicse.library.training import train_job
    from replicse.training.parts import Parts

    torch.set_num_threads(arguments.threads)
    seconds = train_job(
        arguments.job,
        data_folder(arguments.data),
        arguments.out,
        arguments.state,
        device=arguments.device,
        parts=Parts(processes, arguments.chunk or None),
        code=arguments.code,
    )
    if seconds is not None:
        log.info("wrote=%s seconds=%.1f", arguments.out, seconds)
