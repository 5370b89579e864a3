"""MTEB tasks run by the `mteb` library with our encoder.

Tasks, evaluators and result files come from `mteb`. Each result is written when it is ready, and a later
run with the same encoder and dataset loads it, so that an evaluation of many hours can resume. Sentences are not
encoded in advance, because a corpus can be larger than memory.
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
# The vectors of these texts identify an encoder. The last is longer than the maximum length of any encoder.
PROBES = ("A man is playing a guitar.", "the price of oil fell on tuesday", "Why?", "one two three " * 400)
KEYWORDS: EncodeKwargs = {"batch_size": 512, "show_progress_bar": False}
Columns = dict[str, list[Any]]


class VectorEncoder(AbsEncoder):
    """Our encoder as a model of `mteb`, with cosine similarity.

    By default, texts are encoded in fp32, and the vectors of the probes identify the encoder.

    Args:
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        name: The name of the encoder in result files.
        forgets: Whether vectors are removed after each call, to save memory.
        precision: `fp32` or `tf32`. Default: `fp32`.
        encoder: A digest of the encoder's files and settings. Default: empty.
    """

    mteb_model_meta: ModelMeta

    def __init__(
        self, vectors: Vectors, name: str, forgets: bool, precision: str = "fp32", encoder: str = ""
    ) -> None:
        self.vectors, self.forgets, self.precision = vectors, forgets, precision
        # Rounded, because the last digits depend on device and batch.
        probed = np.round(vectors(PROBES), 3) + 0.0
        suffix = (precision if precision != "fp32" else "") + encoder
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"replicse/{name or 'encoder'}",
                "revision": hashlib.sha256(probed.tobytes() + suffix.encode()).hexdigest()[:40],
                "embed_dim": int(probed.shape[1]),
                "similarity_fn_name": ScoringFunction.COSINE,
            }
        )

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        """Encode all texts of a loader.

        Instructions and prompts are not used.

        Args:
            inputs: A loader of batches, which are dicts with a list `text`.

        Returns:
            The vectors, (n, width), float32.
        """
        texts: list[str] = []
        for batch in inputs:
            texts += batch["text"]
        with matrix_products(self.precision):
            embeddings = self.vectors(texts)
        if self.forgets:
            self.vectors.clear()
        return embeddings


class Library:
    """The `mteb` library with an encoder and datasets.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        data: `hub` or `local`.
        results: The folder of the result files, or an empty string for no files.
        model: The name of the encoder in these files.
        precision: `fp32` or `tf32`. Default: `fp32`.
        encoder: A digest of the encoder's files and settings. Default: empty.

    Raises:
        MissingData: If the hub cannot be reached.
    """

    def __init__(
        self, root: Path, vectors: Vectors, data: str, results: str, model: str, precision: str = "fp32",
        encoder: str = "",
    ) -> None:  # fmt: skip
        if data == "hub":
            check_reached()
        self.root, self.data = root, data
        self.encoder = VectorEncoder(vectors, model, data == "hub", precision, encoder)
        self.store = mteb.ResultCache(results) if results else None

    def score(self, name: str) -> float:
        """Compute the main score of a task.

        Args:
            name: The name of the task.

        Returns:
            The score, usually from 0 to 1.

        Raises:
            MissingData: If there is no dataset for the task.
        """
        return self.result(self.task(name)).get_score()

    def task(self, name: str) -> AbsTask:
        """Return a task; if `data` is `local`, with rows of the data root.

        Args:
            name: The name of the task.

        Raises:
            MissingData: If the data root has no data for the task.
        """
        if self.data == "hub":
            return _task_of_hub(name)
        if name not in LOCAL:
            raise MissingData(f"{name}: {NOT_LOCAL}; run it at a scale with datasets of the hub")
        # MTEB's SICK-R has the pairs of all three splits (methods, pitfall 15).
        splits = STS_SPLITS["SICK-R"] if name == "SICK-R" else ("test",)
        subsets: list[StsSubset] = []
        for split in splits:
            subsets += load_sts(self.root, LOCAL[name], split)
        return with_data(_english()[name], {"test": sts_columns(*subsets)}, f"SentEval/{LOCAL[name]}")

    def result(self, task: AbsTask) -> mteb.TaskResult:
        """Return the result of a task, stored or new.

        A stored result is used if encoder, dataset and version of `mteb` are the same.

        Args:
            task: The task.
        """
        meta = self.encoder.mteb_model_meta
        cached = self.store.load_task_result(task.metadata.name, meta) if self.store else None
        if cached and cached.is_mergeable(task, ("dataset_revision", "mteb_version")):
            return cached
        start = time.monotonic()
        if isinstance(task, AbsTaskAggregate):
            result = task.combine_task_results([self.result(part) for part in task.metadata.tasks])
        else:
            try:
                scores = {}
                for split in task.eval_splits:
                    scores[split] = task.evaluate(self.encoder, split, encode_kwargs=KEYWORDS.copy())
                result = mteb.TaskResult.from_task_results(task, scores, time.monotonic() - start)
            finally:
                if task.data_loaded:
                    task.unload_data()
        if self.store:
            self.store.save_to_cache(result, meta, encode_kwargs=KEYWORDS)
        log.info("task=%s seconds=%.1f", task.metadata.name, time.monotonic() - start)
        return result


def download_task(name: str) -> None:
    """Download the datasets of a task into the hub's cache.

    Args:
        name: The name of the task.
    """
    task = _task_of_hub(name)
    for part in task.metadata.tasks if isinstance(task, AbsTaskAggregate) else [task]:
        part.load_data()
        part.unload_data()


def _task_of_hub(name: str) -> AbsTask:
    return _english()[name] if name in MTEB_NAMES else mteb.get_task(name)


@cache
def _english() -> dict[str, AbsTask]:
    """Return the tasks of the benchmark, restricted to the splits and English."""
    # Cached, because the library needs 0.2 s to create them, for each of the 56 names.
    return {task.metadata.name: task for task in mteb.get_benchmark(BENCHMARK).tasks}


def with_data(task: AbsTask, splits: Mapping[str, Columns], path: str) -> AbsTask:
    """Replace the dataset of a task.

    Args:
        task: The task, which is changed in place.
        splits: A dict from splits to columns.
        path: The name of the dataset. The revision is the digest of the rows.

    Returns:
        The task.
    """
    task.dataset = DatasetDict({split: Dataset.from_dict(columns) for split, columns in splits.items()})
    revision = hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()[:40]
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": path, "revision": revision}})
    task.data_loaded = True
    return task


def sts_columns(*subsets: StsSubset) -> Columns:
    """Return scored pairs in the columns of `mteb`.

    Args:
        *subsets: The scored pairs.

    Returns:
        A dict of the lists `sentence1`, `sentence2` and `score`.
    """
    columns: Columns = {"sentence1": [], "sentence2": [], "score": []}
    for subset in subsets:
        columns["sentence1"] += subset.first
        columns["sentence2"] += subset.second
        columns["score"] += map(float, subset.gold)
    return columns
