"""Results of mteb: a file of a task, of a model, or of several models of a benchmark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.judge.result_scores import Content, ResultScore, flat, mapping, words_of
from replicse.printable import some
from replicse.registry.mteb import MTEB_NAMES, categories
from replicse.registry.suites import COSINE

# What is read of a file without main_score; mappings in it that are no subsets; parts that are no settings.
METRICS = (
    "main_score", "cosine_spearman", "ndcg_at_10", "map", "map_at_1000", "v_measure", "max_ap", "cosine_ap", "accuracy",
    "f1", "cosine",
)  # fmt: skip
NESTED = ("cos_sim", "dot", "euclidean", "manhattan", "max", "similarity", "v_measures")
KEYS = {"task_name", "mteb_dataset_name", "mteb_version", "task_results", "model_results"}
REVISION = "dataset_revision"
NO_SETTINGS = (
    "task_name",
    "mteb_dataset_name",
    "scores",
    "evaluation_time",
    "kg_co2_emissions",
    "date",
    "evaluation_phases",
    REVISION,
)


def is_mteb(document: Mapping[str, Any]) -> bool:
    """Return whether a JSON document has keys of mteb."""
    return not KEYS.isdisjoint(document)


def read_mteb(document: Mapping[str, Any], place: Path, model: str) -> Content:
    """Return what a document of mteb says; `model` names one of several models.

    Raises:
        BadInput: the model is not in the document, or it has several models and none is named.
    """
    if "model_results" in document:
        document = _one_model([mapping(each) for each in document["model_results"] or ()], place, model)
    if "task_results" not in document:
        return _read_task(document, place.stem)
    whole = Content(settings=words_of({"model": _about_model(document)}))
    for task in document["task_results"] or ():
        content = _read_task(mapping(task), "")
        whole.scores.extend(content.scores)
        whole.settings.update(content.settings)
        whole.data.update(content.data)
    return whole


def _one_model(results: list[Mapping[str, Any]], place: Path, model: str) -> Mapping[str, Any]:
    names = [str(each.get("model_name")) for each in results]
    if model and model not in names:
        raise BadInput(f"{place}: no model {model}; it has {some(names)}")
    if not model and len(results) > 1:
        raise BadInput(
            f"{place}: results of several models; name one, as in {place}:{names[0]}: {some(names)}"
        )
    return next((each for each, name in zip(results, names, strict=True) if name == (model or name)), {})


def _about_model(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": document.get("model_name"), "revision": document.get("model_revision")}


def _read_task(document: Mapping[str, Any], stem: str) -> Content:
    """Return the main scores of a task, of today's files and of those before 1.11, and the settings."""
    named = document.get("task_name") or document.get("mteb_dataset_name")
    task = str(named or (stem if stem in categories() else "unnamed"))
    # Before 1.11 the splits lie among the settings.
    old = {key: part for key, part in document.items() if isinstance(part, Mapping)}
    splits = mapping(document.get("scores", old))
    content = Content(settings={"tool": "mteb"})
    for split, parts in splits.items():
        for subset, entry in _entries(parts):
            content.scores.append(_main_score(task, split, subset, entry))
    settings = {key: value for key, value in document.items() if key not in (*NO_SETTINGS, *splits)}
    content.settings.update(words_of({f"{task}: {key}": value for key, value in settings.items()}))
    if document.get(REVISION):
        content.data[f"mteb/{task}"] = {REVISION: str(document[REVISION])}
    return content


def _entries(parts: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return subset and scores of a split: of today's list, or, before 1.11, of a mapping with or without subsets."""
    if isinstance(parts, list):
        entries = [mapping(part) for part in parts]
        return [(entry.get("hf_subset", "default"), entry) for entry in entries]
    entry = mapping(parts)
    subsets = [(key, part) for key, part in entry.items() if isinstance(part, Mapping) and key not in NESTED]
    return subsets or [("default", entry)]


def _main_score(task: str, split: str, subset: str, entry: Mapping[str, Any]) -> ResultScore:
    """Return the main score of an entry, or the first score there that may replace it."""
    english = subset == "default" or (task in MTEB_NAMES and subset in ("en", "en-en"))
    main = english and split == ("dev" if task == "MSMARCO" else "test")
    path = f"mteb/{task}" if main else f"mteb/{task}/{split}/{subset}".removesuffix("/default")
    values = {name.replace("/", "_").replace("cos_sim", "cosine"): value for name, value in flat(entry)}
    usual = METRICS if categories().get(task) != "BitextMining" else (METRICS[0], "f1")
    metric = next((metric for metric in usual if COSINE.holds(values.get(metric))), "")
    if not metric:
        return ResultScore(path, None, "passed over, no score from -1 to 1")
    return ResultScore(
        path, 100 * values[metric], "" if metric == METRICS[0] else f"no main_score, read by {metric}"
    )
