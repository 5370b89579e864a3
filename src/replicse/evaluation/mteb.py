"""MTEB through its own library: tasks, evaluators and result files are the library's, the encoder is ours.

Every result is written as soon as it is there, in the library's own form; a later run of the same encoder over the
same data takes it from there, so that an evaluation of many hours resumes where it was stopped. No sentence is encoded
beforehand: a corpus of the library may be larger than memory, and each task asks for its own.
"""

import hashlib
import logging
import math
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from mteb.abstasks import AbsTask
from mteb.abstasks.aggregated_task import AbsTaskAggregate
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import EncodeKwargs

from replicse.data.sts import STS_SPLITS, load_sts
from replicse.errors import MissingData
from replicse.evaluation.mteb_miniature import miniature, sts_columns, with_data
from replicse.evaluation.suites import Vectors
from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS, NOT_LOCAL, categories

log = logging.getLogger(__name__)
BENCHMARK = "MTEB(eng, v1)"
LOCAL = {
    "STSBenchmark": "STS-B",
    **{name: name for name in ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R")},
}
# What an encoder is told from others by: what it makes of these. The last is longer than any encoder reads.
PROBES = ("A man is playing a guitar.", "the price of oil fell on tuesday", "Why?", "one two three " * 400)
KEYWORDS: EncodeKwargs = {"batch_size": 512, "show_progress_bar": False}


class Encoder(AbsEncoder):
    """Sentence vectors as a model of the library, compared by their cosine."""

    mteb_model_meta: ModelMeta

    def __init__(self, vectors: Vectors, name: str, forgets: bool) -> None:
        self.vectors, self.forgets = vectors, forgets
        # Rounded: another device or batch may move the last digits.
        probed = np.round(vectors(PROBES), 3) + 0.0
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"replicse/{name or 'encoder'}",
                "revision": hashlib.sha256(probed.tobytes()).hexdigest()[:40],
                "embed_dim": int(probed.shape[1]),
                "similarity_fn_name": ScoringFunction.COSINE,
            }
        )

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        """Return the vectors of all texts of a loader, float32 (n, d); instructions and prompts are not used."""
        embeddings = self.vectors([text for batch in inputs for text in batch["text"]])
        if self.forgets:
            self.vectors.clear()
        return embeddings


def evaluate(
    root: Path,
    vectors: Vectors,
    tasks: Sequence[str] | None = None,
    data: str = "hub",
    results: str = "",
    model: str = "",
) -> dict[str, Any]:
    """Return the main score of each task (x 100), and the means of the 56 by category and over all of them.

    Any other task is that of the library, over all its languages. With `data` "miniature" the tasks of a category share
    the score of the one that replaces them. A task that cannot be run is None with its reason under `failures`,
    and so is an average with a missing part.
    """
    encoder = Encoder(vectors, model, forgets=data == "hub")
    store = mteb.ResultCache(results) if results else None
    outcomes: dict[str, tuple[float | None, str]] = {}
    scores: dict[str, float | None] = {}
    failures: dict[str, str] = {}
    for name in tasks or MTEB_NAMES:
        run = categories()[name] if data == "miniature" else name
        if run not in outcomes:
            outcomes[run] = _outcome(root, run, data, encoder, store)
        scores[name], reason = outcomes[run]
        if reason:
            failures[name] = reason
    averages: dict[str, float | None] = {}
    for group, members in {**MTEB_TASKS, "all": MTEB_NAMES}.items():
        parts = [score for name in members if (score := scores.get(name)) is not None]
        averages[group] = float(np.mean(parts)) if len(parts) == len(members) else None
        if averages[group] is None:
            lost = next(name for name in members if scores.get(name) is None)
            failures[f"average/{group}"] = f"a part is missing: {lost}, {failures.get(lost, 'not asked for')}"
    return {**scores, "average": averages, "failures": failures}


def _outcome(
    root: Path, name: str, data: str, encoder: Encoder, store: mteb.ResultCache | None
) -> tuple[float | None, str]:
    """Return a task's main score x 100, or None and why there is none: one task must not take 55 others with it."""
    try:
        score = _result(_task(root, name, data), encoder, store).get_score()
    except Exception as error:
        log.warning("task=%s failed", name, exc_info=True)
        return None, f"{error}" or type(error).__name__
    return (100 * float(score), "") if math.isfinite(score) else (None, "the score is undefined")


def _task(root: Path, name: str, data: str) -> AbsTask:
    if data == "miniature":
        return miniature(name, root)
    if data == "hub":
        return _english()[name] if name in MTEB_NAMES else mteb.get_task(name)
    if name not in LOCAL:
        raise MissingData(f"{name}: {NOT_LOCAL}; run it at a scale with hub data")
    # SICK-R of MTEB are the pairs of all three splits (methods, pitfall 31).
    splits = STS_SPLITS["SICK-R"] if name == "SICK-R" else ("test",)
    subsets = [subset for split in splits for subset in load_sts(root, LOCAL[name], split)]
    return with_data(_english()[name], {"test": sts_columns(*subsets)}, f"SentEval/{LOCAL[name]}")


@cache
def _english() -> dict[str, AbsTask]:
    """Return the tasks of the benchmark, restricted to its splits and to English."""
    # Kept, because the library makes them anew in 0.2 s for each of 56 names.
    return {task.metadata.name: task for task in mteb.get_benchmark(BENCHMARK).tasks}


def _result(task: AbsTask, encoder: Encoder, store: mteb.ResultCache | None) -> mteb.TaskResult:
    """Return the result of a task as the library keeps it: the stored one of this encoder and data, or a new one."""
    meta = encoder.mteb_model_meta
    cached = store.load_task_result(task.metadata.name, meta) if store else None
    if cached and cached.is_mergeable(task, ("dataset_revision", "mteb_version")):
        return cached
    start = time.monotonic()
    if isinstance(task, AbsTaskAggregate):
        parts = [_result(part, encoder, store) for part in task.metadata.tasks]
        result = task.combine_task_results(parts)
    else:
        try:
            scores = {
                split: task.evaluate(encoder, split, encode_kwargs=KEYWORDS.copy())
                for split in task.eval_splits
            }
            result = mteb.TaskResult.from_task_results(task, scores, time.monotonic() - start)
        finally:
            if task.data_loaded:
                task.unload_data()
    if store:
        store.save_to_cache(result, meta, encode_kwargs=KEYWORDS)
    log.info("task=%s seconds=%.1f", task.metadata.name, time.monotonic() - start)
    return result
