"""The stage `train`: train a run."""

import logging
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.cli.stages import Stage
from replicse.errors import BadInput, Failed, MissingData
from replicse.files import read_json, write_json
from replicse.runtime.locks import HOLDER

if TYPE_CHECKING:
    from replicse.training.processes import Processes

log = logging.getLogger(__name__)


def train(job: Mapping[str, Any], arguments: Namespace) -> None:
    """Train a run; if there is a saved state, training resumes from it.

    Args:
        job: the payload, a dict that `train_job` validates.
        arguments: the parsed arguments.
    """
    from replicse.training.processes import start_processes

    if arguments.processes < 0 or arguments.chunk < 0:
        raise BadInput(
            f"--processes {arguments.processes} --chunk {arguments.chunk}: both should be at least 0"
        )
    with (
        start_processes(arguments.processes, _words(arguments), arguments.join) as processes,
        failing_once(arguments.state, processes.rank),
    ):
        _train_in(processes, job, arguments)


@contextmanager
def failing_once(state: Path, rank: int) -> Iterator[None]:
    """Make retries of a job fail at once if the error would occur again.

    `Failed` and `BadInput` would occur again, except `MissingData`. Other errors, such as a lost node or full memory,
    may not occur again.

    Args:
        state: the folder of the job's state, in which the error is saved.
        rank: the rank of this process; only process 0 saves the error.
    """
    note = state / "failed.json"
    # Process and start of the study. Dates cannot be compared, because a clock can be wrong.
    study = HOLDER.read_text(encoding="utf-8") if HOLDER.is_file() else ""
    before = None
    with suppress(BadInput):  # there is no error, or the file is broken
        before = read_json(note)
    if study and isinstance(before, Mapping) and before.get("study") == study:
        raise (BadInput if before["bad_input"] else Failed)(before["sentence"])
    try:
        yield
    except MissingData:
        raise
    except (BadInput, Failed) as error:
        if not rank:
            with suppress(Failed, OSError):  # if the disk is full, raise the original error
                facts = {"sentence": str(error), "bad_input": isinstance(error, BadInput), "study": study}
                write_json(note, facts)
        raise


def _words(arguments: Namespace) -> list[str]:
    """Return the command line of the run's other processes."""
    names = ("threads", "chunk", "device")
    options = {name: getattr(arguments, name) for name in names}
    words = ["job", str(arguments.specification)]
    return words + [f"--{name}={value}" for name, value in options.items() if value is not None]


def _train_in(processes: "Processes", job: Mapping[str, Any], arguments: Namespace) -> None:
    """Train the run of a job.

    If there are several processes, only the first process writes files.
    """
    import torch

    from replicse.data.sets import data_folder
    from replicse.library.training import train_job
    from replicse.training.parts import Parts

    torch.set_num_threads(arguments.threads or 1)
    seconds = train_job(
        job,
        data_folder(arguments.data),
        arguments.out,
        arguments.state,
        device=arguments.device,
        parts=Parts(processes, arguments.chunk or 0),
        code=arguments.code,
    )
    if seconds is not None:
        log.info("seconds=%.1f", seconds)


STAGE = Stage(lambda payload, _: payload, train, uses_gpu=True)
