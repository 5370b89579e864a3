"""MTEB tasks: with its own library, or miniatures without the library."""

import logging
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from replicse.encoder.products import has_tf32
from replicse.errors import MissingData
from replicse.evaluation.mteb_miniature import miniature
from replicse.evaluation.suites import Vectors
from replicse.printable import several
from replicse.registry.mteb import LACKS_PART, MTEB_NAMES, MTEB_TASKS, categories

CPU = torch.device("cpu")
log = logging.getLogger(__name__)


def evaluate(
    root: Path,
    vectors: Vectors,
    tasks: Sequence[str] | None = None,
    data: str = "hub",
    results: str = "",
    model: str = "",
    precision: str = "fp32",
    encoder: str = "",
) -> dict[str, Any]:
    """Compute the main score of each MTEB task (x 100) and averages.

    By default, the 56 tasks are run on datasets of the hub.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        tasks: A list of tasks. Default: the 56 tasks. Other tasks are run over all their languages.
        data: `hub`, `local` or `miniature`. With `miniature` the tasks of a category have the same score, the
            score of their miniature. Default: `hub`.
        results: The folder of the result files of `mteb`. Default: no files.
        model: The name of the encoder in these files.
        precision: If it is `tf32` and the GPU supports it, sentences are encoded in TF32, and the result
            records it. Default: `fp32`.
        encoder: A digest of the encoder, with which stored results are found again. Default: empty.

    Returns:
        A dict with the scores by task, and `average`: the means of the 56 tasks by category and over all of
        them. If a task cannot be run, the score is None and `failures` has the reason; an average with a
        missing part is None too.
    """
    is_reduced = precision == "tf32" and data != "miniature" and has_tf32(getattr(vectors, "device", CPU))
    if data == "miniature":
        measure: Callable[[str], float] = partial(miniature, root, vectors)
    else:
        from replicse.evaluation.mteb_library import Library

        used = "tf32" if is_reduced else "fp32"
        measure = Library(root, vectors, data, results, model, used, encoder).score
    outcomes: dict[str, tuple[float | None, str]] = {}
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name in tasks or MTEB_NAMES:
        run = categories()[name] if data == "miniature" else name
        if run not in outcomes:
            outcomes[run] = _measure_safely(run, measure)
        scores[name], reason = outcomes[run]
        if reason:
            failures[name] = reason
    averages: dict[str, float | None] = {}
    for group, members in {**MTEB_TASKS, "all": MTEB_NAMES}.items():
        missing = [name for name in members if scores.get(name) is None]
        if missing:
            averages[group] = None
            reason = failures.get(missing[0], "not requested")
            failures[f"average/{group}"] = f"{LACKS_PART}: {missing[0]}, {reason}"
        else:
            averages[group] = float(np.mean([scores[name] for name in members]))
    if is_reduced:
        log.warning("event=tf32 reason=options.mteb.precision is tf32, so MTEB's texts are encoded in TF32")
        scores["precision"] = "tf32"
    return {**scores, "average": averages, "failures": failures}


def fetch(tasks: Sequence[str] | None = None, **options: object) -> None:
    """Download the datasets of tasks, to evaluate them without a network.

    Args:
        tasks: A list of tasks. Default: the 56 tasks.
        **options: The other options of the suite, which are not used.

    Raises:
        MissingData: If downloads failed. It is raised after all other downloads and lists the tasks.
    """
    from replicse.evaluation.mteb_library import download_task

    failed = []
    for name in tasks or MTEB_NAMES:
        log.info("task=%s", name)
        try:
            download_task(name)
        except Exception as error:
            # The library raises errors of many packages, and one task should not prevent the other downloads.
            failed.append(f"{name} ({' '.join(str(error).split()) or type(error).__name__})")
    if failed:
        raise MissingData(f"{several(len(failed), 'task')} of MTEB cannot be downloaded: {'; '.join(failed)}")


def _measure_safely(name: str, measure: Callable[[str], float]) -> tuple[float | None, str]:
    """Return a task's main score x 100, or None and the reason.

    An error in one task should not stop the other 55.
    """
    try:
        score = measure(name)
    except Exception as error:
        # The traceback is for a log file, not for a person at a terminal.
        log.warning("task=%s failed", name, exc_info=not sys.stderr.isatty())
        return None, f"{error}" or type(error).__name__
    return (100 * float(score), "") if math.isfinite(score) else (None, "the score is undefined")
