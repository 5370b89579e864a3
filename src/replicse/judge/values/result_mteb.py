"""Results of mteb: a task, a model, or several models of a benchmark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.judge.values.result_scores import Content, ResultScore, as_dict, flatten, setting_texts
from replicse.printable import some
from replicse.registry.mteb import MTEB_NAMES, categories
from replicse.registry.suites import COSINE

# Metrics to use if a file has no main_score, the preferred ones first.
METRICS = (
    "main_score", "cosine_spearman", "ndcg_at_10", "map", "map_at_1000", "v_measure", "max_ap", "cosine_ap", "accuracy",
    "f1", "cosine",
)  # fmt: skip
# Dicts in old files that are not subsets.
NESTED = ("cos_sim", "dot", "euclidean", "manhattan", "max", "similarity", "v_measures")
KEYS = {"task_name", "mteb_dataset_name", "mteb_version", "task_results", "model_results"}
REVISION = "dataset_revision"
# Keys that are not settings.
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
    """Load a document of mteb.

    Args:
        document: the document as a dict.
        place: its file.
        model: the name of one of several models; an empty string if the document has a single model.

    Raises:
        BadInput: if the document does not contain the model, or if it has several models and none is specified.
    """
    if "model_results" in document:
        document = _one_model(list(map(as_dict, document["model_results"] or ())), place, model)
    if "task_results" not in document:
        return _read_task(document, place.stem)
    whole = Content(settings=setting_texts({"model": _about_model(document)}))
    for task in document["task_results"] or ():
        content = _read_task(as_dict(task), "")
        whole.scores.extend(content.scores)
        whole.settings.update(content.settings)
        whole.data.update(content.data)
    return whole


def _one_model(results: list[Mapping[str, Any]], place: Path, model: str) -> Mapping[str, Any]:
    names = [str(each.get("model_name")) for each in results]
    if model and model not in names:
        raise BadInput(f"{place} does not contain model {model}, only {some(names)}")
    if not model and len(results) > 1:
        raise BadInput(
            f"{place}: results of several models; specify a model, such as {place}:{names[0]}: {some(names)}"
        )
    for each, name in zip(results, names, strict=True):
        if not model or name == model:
            return each
    return {}


def _about_model(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": document.get("model_name"), "revision": document.get("model_revision")}


def _read_task(document: Mapping[str, Any], stem: str) -> Content:
    """Return the main scores and the settings of a task.

    Files of mteb before 1.11 have another format.
    """
    named = document.get("task_name") or document.get("mteb_dataset_name")
    task = str(named or (stem if stem in categories() else "unnamed"))
    # Before 1.11 the splits are among the settings.
    old = {key: part for key, part in document.items() if isinstance(part, Mapping)}
    splits = as_dict(document.get("scores", old))
    content = Content(settings={"tool": "mteb"})
    for split, parts in splits.items():
        for subset, entry in _entries(parts):
            content.scores.append(_main_score(task, split, subset, entry))
    settings = {}
    for key, value in document.items():
        if key not in NO_SETTINGS and key not in splits:
            settings[f"{task}: {key}"] = value
    content.settings.update(setting_texts(settings))
    if document.get(REVISION):
        content.data[f"mteb/{task}"] = {REVISION: str(document[REVISION])}
    return content


def _entries(parts: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the subsets of a split with their scores.

    The split is a list. Before mteb 1.11 it is a dict, with or without subsets.
    """
    if isinstance(parts, list):
        entries = map(as_dict, parts)
        return [(entry.get("hf_subset", "default"), entry) for entry in entries]
    entry = as_dict(parts)
    subsets = [(key, part) for key, part in entry.items() if isinstance(part, Mapping) and key not in NESTED]
    return subsets or [("default", entry)]


def _main_score(task: str, split: str, subset: str, entry: Mapping[str, Any]) -> ResultScore:
    """Return the main score of an entry, or a metric that replaces it."""
    is_english = subset == "default" or (task in MTEB_NAMES and subset in ("en", "en-en"))
    path = f"mteb/{task}"
    if not is_english or split != ("dev" if task == "MSMARCO" else "test"):
        path = f"mteb/{task}/{split}/{subset}".removesuffix("/default")
    values = {name.replace("/", "_").replace("cos_sim", "cosine"): value for name, value in flatten(entry)}
    usual = METRICS if categories().get(task) != "BitextMining" else (METRICS[0], "f1")
    metric = next((metric for metric in usual if COSINE.holds(values.get(metric))), "")
    if not metric:
        return ResultScore(path, None, "skipped, the scores are not from -1 to 1")
    remark = "" if metric == METRICS[0] else f"main_score is missing, {metric} is used"
    return ResultScore(path, 100 * values[metric], remark)
