"""MTEB: its tasks through its own library, or a miniature of each category over the embedded world without it."""

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
) -> dict[str, Any]:
    """Return the main score of each task (x 100), and the means of the 56 by category and over all of them.

    Any other task is that of the library, over all its languages. With `data` "miniature" the tasks of a category share
    the score of the one that replaces them. A task that cannot be run is None with its reason under `failures`,
    and so is an average with a missing part. With `precision` "tf32" a GPU that has it encodes in TF32, which the
    result then says.
    """
    reduced = precision == "tf32" and data != "miniature" and has_tf32(getattr(vectors, "device", CPU))
    if data == "miniature":
        measure: Callable[[str], float] = partial(miniature, root, vectors)
    else:
        from replicse.evaluation.mteb_library import Library

        measure = Library(root, vectors, data, results, model, "tf32" if reduced else "fp32").score
    outcomes: dict[str, tuple[float | None, str]] = {}
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name in tasks or MTEB_NAMES:
        run = categories()[name] if data == "miniature" else name
        if run not in outcomes:
            outcomes[run] = _outcome(run, measure)
        scores[name], reason = outcomes[run]
        if reason:
            failures[name] = reason
    averages: dict[str, float | None] = {}
    for group, members in {**MTEB_TASKS, "all": MTEB_NAMES}.items():
        parts = [score for name in members if (score := scores.get(name)) is not None]
        averages[group] = float(np.mean(parts)) if len(parts) == len(members) else None
        if averages[group] is None:
            lost = next(name for name in members if scores.get(name) is None)
            failures[f"average/{group}"] = f"{LACKS_PART}: {lost}, {failures.get(lost, 'not asked for')}"
    if reduced:
        log.warning("event=tf32 reason=the texts of MTEB are encoded in TF32, as options.mteb.precision says")
        scores["precision"] = "tf32"
    return {**scores, "average": averages, "failures": failures}


def fetch(tasks: Sequence[str] | None = None, **options: object) -> None:
    """Download the datasets of tasks, so that they can be evaluated without a network.

    Args:
        tasks: names of tasks; the 56 if not given.
        options: the other options of the suite, which change nothing here.

    Raises:
        MissingData: names the tasks that could not be downloaded, after all others have been.
    """
    from replicse.evaluation.mteb_library import download_task

    failed = []
    for name in tasks or MTEB_NAMES:
        log.info("task=%s", name)
        try:
            download_task(name)
        except Exception as error:
            # The library raises errors of many packages; one task must not keep the others from being downloaded.
            failed.append(f"{name} ({' '.join(str(error).split()) or type(error).__name__})")
    if failed:
        raise MissingData(f"{several(len(failed), 'task')} of MTEB cannot be downloaded: {'; '.join(failed)}")


def _outcome(name: str, measure: Callable[[str], float]) -> tuple[float | None, str]:
    """Return a task's main score x 100, or None and why there is none: one task must not take 55 others with it."""
    try:
        score = measure(name)
    except Exception as error:
        # Where the error was raised is for a log, not for a person at a terminal.
        log.warning("task=%s failed", name, exc_info=not sys.stderr.isatty())
        return None, f"{error}" or type(error).__name__
    return (100 * float(score), "") if math.isfinite(score) else (None, "the score is undefined")
