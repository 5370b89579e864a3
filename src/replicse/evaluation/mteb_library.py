"""Tasks of MTEB through its own library: tasks, evaluators and result files are the library's, the encoder is ours.

Every result is written as soon as it is there, in the library's own form; a later run of the same encoder over the
same data takes it from there, so that an evaluation of many hours resumes where it was stopped. No sentence is encoded
beforehand: a corpus of the library may be larger than memory, and each task asks for its own.
"""

import hashlib
import json
import logging
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTask
from mteb.abstasks.aggregated_task import AbsTaskAggregate
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import EncodeKwargs

from replicse.data.hub import check_reached
from replicse.data.sts import STS_SPLITS, StsSubset, load_sts
from replicse.encoder.products import matrix_products
from replicse.errors import MissingData
from replicse.evaluation.suites import Vectors
from replicse.registry.mteb import MTEB_NAMES, NOT_LOCAL

log = logging.getLogger(__name__)
BENCHMARK = "MTEB(eng, v1)"
LOCAL = {
    "STSBenchmark": "STS-B",
    **{name: name for name in ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R")},
}
# What an encoder is told from others by: what it makes of these. The last is longer than any encoder reads.
PROBES = ("A man is playing a guitar.", "the price of oil fell on tuesday", "Why?", "one two three " * 400)
KEYWORDS: EncodeKwargs = {"batch_size": 512, "show_progress_bar": False}
Columns = dict[str, list[Any]]


class VectorEncoder(AbsEncoder):
    """Sentence vectors as a model of the library, compared by their cosine."""

    mteb_model_meta: ModelMeta

    def __init__(self, vectors: Vectors, name: str, forgets: bool, precision: str = "fp32") -> None:
        self.vectors, self.forgets, self.precision = vectors, forgets, precision
        # Rounded: another device or batch may move the last digits.
        probed = np.round(vectors(PROBES), 3) + 0.0
        told = precision.encode() if precision != "fp32" else b""
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"replicse/{name or 'encoder'}",
                "revision": hashlib.sha256(probed.tobytes() + told).hexdigest()[:40],
                "embed_dim": int(probed.shape[1]),
                "similarity_fn_name": ScoringFunction.COSINE,
            }
        )

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        """Return the vectors of all texts of a loader, float32 (n, d); instructions and prompts are not used."""
        with matrix_products(self.precision):
            embeddings = self.vectors([text for batch in inputs for text in batch["text"]])
        if self.forgets:
            self.vectors.clear()
        return embeddings


class Library:
    """The library with an encoder, the place of its data, `hub` or `local`, and the folder of its result files.

    Raises MissingData where the hub cannot be reached.
    """

    def __init__(
        self, root: Path, vectors: Vectors, data: str, results: str, model: str, precision: str = "fp32"
    ) -> None:
        if data == "hub":
            check_reached()
        self.root, self.data = root, data
        self.encoder = VectorEncoder(vectors, model, forgets=data == "hub", precision=precision)
        self.store = mteb.ResultCache(results) if results else None

    def score(self, name: str) -> float:
        """Return the main score of a task; MissingData where its data are not there."""
        return self.result(self.task(name)).get_score()

    def task(self, name: str) -> AbsTask:
        """Return a task, over the rows of the data root where the data are local."""
        if self.data == "hub":
            return _task_of_hub(name)
        if name not in LOCAL:
            raise MissingData(f"{name}: {NOT_LOCAL}; run it at a scale with hub data")
        # SICK-R of MTEB are the pairs of all three splits (methods, pitfall 15).
        splits = STS_SPLITS["SICK-R"] if name == "SICK-R" else ("test",)
        subsets = [subset for split in splits for subset in load_sts(self.root, LOCAL[name], split)]
        return with_data(_english()[name], {"test": sts_columns(*subsets)}, f"SentEval/{LOCAL[name]}")

    def result(self, task: AbsTask) -> mteb.TaskResult:
        """Return a task's result as the library keeps it: the stored one of this encoder and data, or a new one."""
        meta = self.encoder.mteb_model_meta
        cached = self.store.load_task_result(task.metadata.name, meta) if self.store else None
        if cached and cached.is_mergeable(task, ("dataset_revision", "mteb_version")):
            return cached
        start = time.monotonic()
        if isinstance(task, AbsTaskAggregate):
            result = task.combine_task_results([self.result(part) for part in task.metadata.tasks])
        else:
            try:
                scores = {
                    split: task.evaluate(self.encoder, split, encode_kwargs=KEYWORDS.copy())
                    for split in task.eval_splits
                }
                result = mteb.TaskResult.from_task_results(task, scores, time.monotonic() - start)
            finally:
                if task.data_loaded:
                    task.unload_data()
        if self.store:
            self.store.save_to_cache(result, meta, encode_kwargs=KEYWORDS)
        log.info("task=%s seconds=%.1f", task.metadata.name, time.monotonic() - start)
        return result


def download_task(name: str) -> None:
    """Load the datasets of a task, which leaves them in the cache of the hub's library, and forget them."""
    task = _task_of_hub(name)
    for part in task.metadata.tasks if isinstance(task, AbsTaskAggregate) else [task]:
        part.load_data()
        part.unload_data()


def _task_of_hub(name: str) -> AbsTask:
    return _english()[name] if name in MTEB_NAMES else mteb.get_task(name)


@cache
def _english() -> dict[str, AbsTask]:
    """Return the tasks of the benchmark, restricted to its splits and to English."""
    # Kept, because the library makes them anew in 0.2 s for each of 56 names.
    return {task.metadata.name: task for task in mteb.get_benchmark(BENCHMARK).tasks}


def with_data(task: AbsTask, splits: Mapping[str, Columns], path: str) -> AbsTask:
    """Return a task over given rows; its data set has another path then, and as its revision the digest of the rows."""
    task.dataset = DatasetDict({split: Dataset.from_dict(columns) for split, columns in splits.items()})
    revision = hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()[:40]
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": path, "revision": revision}})
    task.data_loaded = True
    return task


def sts_columns(*subsets: StsSubset) -> Columns:
    """Return scored pairs in the columns of the library."""
    return {
        "sentence1": [text for subset in subsets for text in subset.first],
        "sentence2": [text for subset in subsets for text in subset.second],
        "score": [float(score) for subset in subsets for score in subset.gold],
    }
