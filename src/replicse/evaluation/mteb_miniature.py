"""Miniatures of MTEB: one real task of each category over the data sets of the embedded world."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict
from mteb.abstasks import (
    AbsTask,
    AbsTaskClassification,
    AbsTaskPairClassification,
    AbsTaskRetrieval,
    AbsTaskSTS,
)
from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.abstasks.text.summarization import AbsTaskSummarization

from replicse.data.corpora import read_corpus
from replicse.data.sts import StsSubset, load_sts
from replicse.data.transfer import load_transfer
from replicse.errors import MissingData

ROWS = 80  # of each set: seconds for all seven
CANDIDATES = 16  # that a reranking orders
Columns = dict[str, list[Any]]
Splits = dict[str, Columns]


def with_data(task: AbsTask, splits: Splits, path: str) -> AbsTask:
    """Return a task over given rows; its data set has another path then, and as its revision the digest of the rows."""
    task.dataset = DatasetDict({split: Dataset.from_dict(columns) for split, columns in splits.items()})
    return _described(task, splits, path)


def _described(task: AbsTask, rows: Mapping[str, Any], path: str) -> AbsTask:
    revision = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:40]
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


def miniature(category: str, root: Path) -> AbsTask:
    """Return the miniature of a category; MissingData where there is none, or a file that it is made of is absent."""
    if category not in TASKS:
        raise MissingData(f"no miniature replaces {category}; run it at a scale with the data of the hub")
    task = TASKS[category]()
    path = "replicse/miniature"
    if category in ("Reranking", "Retrieval"):
        split = _captions(root, ranked=category == "Reranking")
        task.dataset = {
            "default": {"test": {**split, **{key: _with_ids(split[key]) for key in ("queries", "corpus")}}}
        }
        return _described(task, split, path)
    return with_data(task, {"Classification": _questions, "Clustering": _sources, "PairClassification": _paraphrases,
                            "STS": _similarities, "Summarization": _summaries}[category](root), path)  # fmt: skip


def _questions(root: Path) -> Splits:
    """Return questions and their classes."""
    splits = load_transfer(root, "TREC").splits
    return {
        name: {"text": list(split.first[:ROWS]), "label": split.labels[:ROWS].tolist()}
        for name, split in splits.items()
    }


def _sources(root: Path) -> Splits:
    """Return sentences of four data sets, to be distinguished by where they come from."""
    sources = {
        name: load_transfer(root, name).splits["all"].first[: ROWS // 4]
        for name in ("MR", "CR", "SUBJ", "MPQA")
    }
    labels = [name for name, texts in sources.items() for _ in texts]
    return {
        "test": {"sentences": [[text for texts in sources.values() for text in texts]], "labels": [labels]}
    }


def _paraphrases(root: Path) -> Splits:
    """Return pairs, and whether they are paraphrases."""
    split = load_transfer(root, "MRPC").splits["test"]
    assert split.second is not None, "MRPC holds pairs"
    columns = {
        "sentence1": list(split.first),
        "sentence2": list(split.second),
        "labels": split.labels.tolist(),
    }
    return {"test": {name: values[:ROWS] for name, values in columns.items()}}


def _similarities(root: Path) -> Splits:
    """Return the scored pairs of STS-B."""
    return {
        "test": {
            name: values[:ROWS] for name, values in sts_columns(*load_sts(root, "STS-B", "test")).items()
        }
    }


def _summaries(root: Path) -> Splits:
    """Return premises with hypotheses as their summaries: an entailed one is best, a contradicting one worst."""
    nli = read_corpus(
        root, {"format": "nli", "files": ["nli/nli.jsonl"], "neutral": "neutral", "limit": ROWS}
    )
    return {
        "test": {
            "text": nli["anchor"],
            "human_summaries": [[text] for text in nli["anchor"]],
            "machine_summaries": [
                list(row) for row in zip(nli["positive"], nli["neutral"], nli["negative"], strict=True)
            ],
            "relevance": [[5, 3, 1]] * len(nli["anchor"]),
        }
    }


def _captions(root: Path, ranked: bool) -> dict[str, Any]:
    """Return queries, documents and their relevance: the first caption of an image asks for its others.

    To be reranked are its own captions among those that follow in the file.
    """
    pairs = read_corpus(
        root, {"format": "captions", "file": "pairs/flickr30k/captions.tsv.gz", "limit": 10 * ROWS}
    )
    wanted: dict[str, list[str]] = {}
    for query, document in zip(pairs["anchor"], pairs["positive"], strict=True):
        wanted.setdefault(query, []).append(document)
    documents = list(dict.fromkeys(pairs["positive"]))
    place = {text: number for number, text in enumerate(documents)}
    queries = [text for text in wanted if text not in place][:ROWS]
    relevant = {f"q{i}": {f"d{place[text]}": 1 for text in wanted[query]} for i, query in enumerate(queries)}
    candidates = {
        f"q{i}": [
            f"d{(place[wanted[query][0]] + step) % len(documents)}"
            for step in range(min(CANDIDATES, len(documents)))
        ]
        for i, query in enumerate(queries)
    }
    return {
        "queries": {"q": queries},
        "corpus": {"d": documents},
        "relevant_docs": relevant,
        "top_ranked": candidates if ranked else None,
    }


def _with_ids(texts: Mapping[str, list[str]]) -> Dataset:
    ((letter, lines),) = texts.items()
    return Dataset.from_dict({"id": [f"{letter}{i}" for i in range(len(lines))], "text": lines})


def _task(kind: type[AbsTask], category: str, main_score: str) -> type[AbsTask]:
    """Return the task class of a miniature."""
    metadata = TaskMetadata(
        name=f"Miniature{category}",
        type=category,
        description=f"A few generated sentences that replace the {category} tasks of MTEB.",
        dataset={"path": "replicse/miniature", "revision": "not loaded"},
        eval_langs=["eng-Latn"],
        main_score=main_score,
    )
    return type(metadata.name, (kind,), {"metadata": metadata, "min_score": 0, "max_score": 5})


TASKS: dict[str, type[AbsTask]] = {
    category: _task(kind, category, main_score)
    for category, kind, main_score in (
        ("Classification", AbsTaskClassification, "accuracy"),
        ("Clustering", AbsTaskClusteringLegacy, "v_measure"),
        ("PairClassification", AbsTaskPairClassification, "max_ap"),
        ("Reranking", AbsTaskRetrieval, "map_at_1000"),
        ("Retrieval", AbsTaskRetrieval, "ndcg_at_10"),
        ("STS", AbsTaskSTS, "cosine_spearman"),
        ("Summarization", AbsTaskSummarization, "cosine_spearman"),
    )
}
