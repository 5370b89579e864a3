"""The stage `evaluate`: evaluate an encoder of a study."""

import logging
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from replicse.cli.stages import Payload, Stage
from replicse.files import write_json
from replicse.judge.values.pairs import pack_pairs
from replicse.library.requests import EvaluationRequest

log = logging.getLogger(__name__)
Write = Callable[[Path, dict[str, Any]], None]


class EvaluationJob(EvaluationRequest, Payload):
    """The encoder and suites to evaluate, with their plug-ins."""


def evaluate(job: EvaluationJob, arguments: Namespace) -> None:
    """Evaluate an encoder of a study and write the scores.

    If a suite fails, the reason is written instead. Other suites and items are not affected.
    """
    evaluate_and_write(job, arguments)


def evaluate_and_write(job: EvaluationJob, arguments: Namespace, write: Write = write_json) -> dict[str, Any]:
    """Evaluate an encoder and write the result as a JSON file.

    Args:
        job: the encoder and the suites.
        arguments: `data` (the data root or data.json), `out` (the file to write), `threads`, `device` and optionally
            `width` and `quantise` (further widths and quantisations).
        write: the function that writes the result. Default: `write_json`.

    Returns:
        A dict with `suites`, `pairs`, `failures` and `provenance`.
    """
    from replicse.data.sets import data_folder
    from replicse.library.encoders import set_threads
    from replicse.library.evaluation import evaluate_request

    set_threads(arguments.threads)
    result = evaluate_request(
        job,
        data_folder(arguments.data),
        arguments.out.with_suffix(""),
        arguments.device,
        getattr(arguments, "width", ()),
        getattr(arguments, "quantise", ()),
    )
    result["pairs"] = {task: pack_pairs(*sides) for task, sides in result["pairs"].items()}
    write(arguments.out, dict(result))
    log.info("wrote=%s seconds=%.1f", arguments.out, result["provenance"]["seconds"])
    return result


STAGE = Stage(EvaluationJob.of, evaluate, uses_gpu=True)
