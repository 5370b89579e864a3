"""Results files of others: scores and settings of an mteb, SentEval or RepliCSE JSON, and what differs between two."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import read_json
from replicse.registry.mteb import MTEB_NAMES
from replicse.registry.suites import AGGREGATIONS, ANY, STS_DEV_TASKS, STS_TASKS, TRANSFER_TASKS

# What SentEval and mteb call a task that the papers call otherwise.
SENTEVAL = {"STSBenchmark": "STS-B", "SICKRelatedness": "SICK-R", "SICKRelatedness-finetune": "SICK-R"}
MTEB_STS = {
    "STSBenchmark": "STS-B",
    "SICK-R": "SICK-R",
    **{name: name for name in STS_TASKS if name[-1].isdigit()},
}
# Parts of an mteb file that are no settings.
SCORES_OR_COSTS = ("scores", "evaluation_time", "kg_co2_emissions", "date", "evaluation_phases")
TOOLS = "mteb, SentEval or RepliCSE"
ROUNDING = 0.011
# Points by which half precision or another batch may move a correlation.
NUMERICS = 0.1


@dataclass(frozen=True)
class Results:
    """What one file or folder says: its tool, scores x 100 by name, and settings by name."""

    tool: str
    scores: Mapping[str, float]
    settings: Mapping[str, str]

    def score(self, metric_path: str) -> float | None:
        """Return the score at a metric path of ours; None where the file has none."""
        return self.scores.get(metric_path)


@dataclass(frozen=True)
class Comparison:
    """Two results: settings that differ, scores of both, names that only one has."""

    settings: Mapping[str, tuple[str, str]]
    scores: Mapping[str, tuple[float, float]]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    def standing(self, name: str) -> str:
        """Return whether a difference is rounding, what numerics may do, or beyond both."""
        first, second = self.scores[name]
        size = abs(second - first)
        if size <= ROUNDING:
            return "equal"
        return "within numerics" if size <= NUMERICS else "beyond numerics"


def read_results(place: Path) -> Results:
    """Return what a results file says, or all files of a folder of mteb; BadInput for a file of another tool."""
    if place.is_dir():
        files = [file for file in sorted(place.glob("*.json")) if file.name != "model_meta.json"]
        if not files:
            raise BadInput(f"{place}: no results file of {TOOLS} in this folder")
        read = [read_results(file) for file in files]
        return Results(
            read[0].tool,
            {name: score for each in read for name, score in each.scores.items()},
            {name: value for each in read for name, value in each.settings.items()},
        )
    document = read_json(place)
    if isinstance(document, Mapping):
        for tool, reader in (("RepliCSE", _ours), ("mteb", _mteb), ("SentEval", _senteval)):
            scores = dict(reader(document))
            if scores:
                return Results(tool, scores, dict(_settings(document, tool, place)))
    raise BadInput(f"{place}: no results file of {TOOLS}; name one that holds scores by task")


def _hundredfold(value: object) -> float | None:
    return 100 * value if isinstance(value, int | float) and ANY.holds(value) and abs(value) <= 1 else None


def _ours(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    suites = document.get("suites")
    if isinstance(suites, Mapping):
        for path, value in _flat(suites):
            if (
                isinstance(value, int | float)
                and ANY.holds(value)
                and path.rpartition("/")[2] not in ("n", "low", "high")
            ):
                yield path, float(value)


def _mteb(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the main scores of a task, of today's files and of those before 1.11."""
    name = document.get("task_name", document.get("mteb_dataset_name"))
    if not isinstance(name, str):
        return
    splits = document.get("scores", document)
    for split, parts in splits.items() if isinstance(splits, Mapping) else ():
        subsets = parts if isinstance(parts, list) else [parts]
        for entry in (entry for entry in subsets if isinstance(entry, Mapping)):
            cosine = entry.get("cos_sim")
            value = entry.get("main_score", cosine.get("spearman") if isinstance(cosine, Mapping) else cosine)
            score = _hundredfold(value)
            if score is None:
                continue
            subset = entry.get("hf_subset", "default")
            yield f"mteb/{name}/{split}" + (f"/{subset}" if subset != "default" else ""), score
            if split == "test" and subset == "default":
                if name in MTEB_NAMES:
                    yield f"mteb/{name}", score
                if name in MTEB_STS and "SICK" not in name:
                    yield f"sts/{MTEB_STS[name]}/all", score


def _senteval(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield Spearman of similarity tasks, of today's SentEval and of SimCSE's, and accuracies of the others."""
    for key, parts in document.items():
        task = SENTEVAL.get(key, key)
        if not isinstance(parts, Mapping):
            continue
        if task in TRANSFER_TASKS:
            yield from _accuracies(task, parts)
        elif task in STS_DEV_TASKS:
            yield from _split_scores(task, parts)
        elif task in STS_TASKS and isinstance(parts.get("all"), Mapping):
            joined = parts["all"].get("spearman")
            names = AGGREGATIONS if isinstance(joined, Mapping) else ()
            yield from _present((f"sts/{task}/{name}", _hundredfold(joined.get(name))) for name in names)


def _accuracies(task: str, parts: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, path in (("acc", f"transfer/{task}/accuracy"), ("devacc", f"transfer-dev/{task}/dev_accuracy")):
        if ANY.holds(parts.get(name)):
            yield path, float(parts[name])


def _split_scores(task: str, parts: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield what a file has of STS-B or SICK-R: correlations by split, or that of SentEval's regression."""
    scores: list[tuple[str, float | None]] = []
    for split, suite in (("test", "sts"), ("dev", "sts-dev")):
        value = parts.get(split)
        spearman = value.get("spearman") if isinstance(value, Mapping) else None
        first = spearman[0] if isinstance(spearman, list) and spearman else spearman
        scores.append((f"{suite}/{task}/all", _hundredfold(first)))
    yield from _present([*scores, (f"variants/stsb-regressor/{task}", _hundredfold(parts.get("spearman")))])


def _present(scores: Iterable[tuple[str, float | None]]) -> Iterator[tuple[str, float]]:
    return ((name, score) for name, score in scores if score is not None)


def _settings(document: Mapping[str, Any], tool: str, place: Path) -> Iterator[tuple[str, str]]:
    yield "tool", tool
    if tool == "RepliCSE":
        kept = {key: document.get(key) for key in ("encoder", "pooling", "max_length", "postprocess")}
        record = document.get("provenance")
        kept |= (
            {key: record.get(key) for key in ("device", "versions", "precision")}
            if isinstance(record, Mapping)
            else {}
        )
        yield from ((name, str(value)) for name, value in _flat(kept) if value is not None)
    if tool == "mteb":
        name = document.get("task_name", document.get("mteb_dataset_name"))
        kept = {key: value for key, value in document.items() if key not in SCORES_OR_COSTS and _plain(value)}
        yield from ((f"{name}: {path}", str(value)) for path, value in _flat(kept) if value is not None)
        meta = place.with_name("model_meta.json")
        if meta.is_file() and isinstance(model := read_json(meta), Mapping):
            yield from ((f"model: {path}", str(value)) for path, value in _flat(model) if value is not None)


def _plain(value: object) -> bool:
    """Return whether a part of an old mteb file is a setting: its splits hold scores."""
    return not (isinstance(value, Mapping) and ("evaluation_time" in value or "cos_sim" in value))


def _flat(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}/")
        else:
            yield path, json.dumps(value) if isinstance(value, list) else value


def _once(names: Iterable[str], *results: Results) -> list[str]:
    """Return the first name of each score: what mteb says of a test split has three names, and one number."""
    by_score: dict[tuple[str | float, ...], str] = {}
    for name in names:
        suite, _, rest = name.partition("/")
        task, _, part = rest.partition("/")
        theirs = {ours: name for name, ours in MTEB_STS.items()}.get(task, task) if suite == "sts" else task
        test = theirs if suite in ("sts", "mteb") and part in ("", "all", "test") else name
        by_score.setdefault((test, *(each.scores[name] for each in results)), name)
    return list(by_score.values())


def compare_results(first: Results, second: Results) -> Comparison:
    """Return what differs between two results; BadInput where they share no score."""
    shared = _once((name for name in first.scores if name in second.scores), first, second)
    if not shared:
        raise BadInput("the two results share no score; compare files of the same tasks")
    names = dict.fromkeys([*first.settings, *second.settings])
    settings = {
        name: (first.settings.get(name, "-"), second.settings.get(name, "-"))
        for name in names
        if first.settings.get(name) != second.settings.get(name)
    }
    return Comparison(
        settings,
        {name: (first.scores[name], second.scores[name]) for name in shared},
        tuple(_once((name for name in first.scores if name not in second.scores), first)),
        tuple(_once((name for name in second.scores if name not in first.scores), second)),
    )
