"""Results files of others: scores and settings by mteb, SentEval, SimCSE and RepliCSE, and what differs between two."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import read_text
from replicse.printable import some
from replicse.registry.mteb import MTEB_NAMES, categories
from replicse.registry.ranges import ANY
from replicse.registry.suites import (
    AGGREGATIONS,
    COSINE,
    STS_DEV_TASKS,
    STS_TASKS,
    SUITES,
    TRANSFER_TASKS,
    range_of,
)

# Tasks by what SentEval, tables and SimCSE's trainer call them, without case and hyphens.
TASKS = {name.casefold().replace("-", ""): name for name in (*STS_TASKS, *TRANSFER_TASKS)}
TASKS |= {"stsbenchmark": "STS-B", "sickrelatedness": "SICK-R"}
# Where a tool keeps a score: its place in the file, the metric path, and the factor that makes it x 100.
SIMILARITY = r"(?P<task>(STS|SICK)[\w-]+?)(-finetune)?"
TRANSFER = r"(?P<task>(?!STS|SICK)\w+)"
PLACES = (
    ("RepliCSE", r"suites/(?P<path>.+/(?!(n|low|high|file|sha256)$)[^/]+)", "{path}", 1),
    ("SentEval", SIMILARITY + r"/all/spearman/(?P<name>all|mean|wmean)", "sts/{task}/{name}", 100),
    ("SentEval", SIMILARITY + r"/(fast)?test(/spearman)?", "sts/{task}/all", 100),
    ("SentEval", SIMILARITY + r"/dev(/spearman)?", "sts-dev/{task}/all", 100),
    ("SentEval", SIMILARITY + r"/spearman", "variants/stsb-regressor/{task}", 100),
    ("SentEval", TRANSFER + r"/(acc|(fast)?test)", "transfer/{task}/accuracy", 1),
    ("SentEval", TRANSFER + r"/dev(acc)?", "transfer-dev/{task}/dev_accuracy", 1),
    ("SimCSE", r"eval_(?P<task>stsb|sickr)_spearman", "sts-dev/{task}/all", 100),
    ("SimCSE", r"eval_" + TRANSFER, "transfer-dev/{task}/dev_accuracy", 1),
)
SETTINGS = (
    r"(provenance/)?"
    r"(?P<name>encoder|pooling|max_length|tokenizer|step|(postprocess|device|versions|precision).*)"
)
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
# What is read of a file of mteb without main_score; mappings there that are no subsets; parts that are no settings.
METRICS = (
    "main_score", "cosine_spearman", "ndcg_at_10", "map", "map_at_1000", "v_measure", "max_ap", "cosine_ap", "accuracy",
    "f1", "cosine",
)  # fmt: skip
NESTED = ("cos_sim", "dot", "euclidean", "manhattan", "max", "similarity", "v_measures")
MTEB_KEYS = {"task_name", "mteb_dataset_name", "mteb_version"}
NO_SETTINGS = (
    "task_name",
    "mteb_dataset_name",
    "scores",
    "evaluation_time",
    "kg_co2_emissions",
    "date",
    "evaluation_phases",
)
# One score under two names. SICK-R of mteb is another test set.
SAME = {"mteb/STSBenchmark": "sts/STS-B/all"}
SAME |= {f"mteb/{task}": f"sts/{task}/all" for task in STS_TASKS if task not in STS_DEV_TASKS}
SAME |= {ours: theirs for theirs, ours in SAME.items()}
AVERAGED = {
    f"{suite}/{name}": tuple(f"{suite}/{part}" for part in parts)
    for suite in ("sts", "transfer", "transfer-dev", "mteb")
    for name, parts in SUITES[suite].averages.items()
    if len(parts) > 1
}
TOOLS = "mteb, SentEval, SimCSE or RepliCSE"
KINDS, MODEL_META = (".json", ".txt", ".log", ".out"), "model_meta.json"
ROUNDING = 0.011
# Points by which half precision or another batch may move a correlation.
NUMERICS, BEYOND = 0.1, "beyond numerics"
# A metric path, its score x 100 or None for what is passed over, and a remark; all of a file, and its settings.
Found = tuple[str, float | None, str]
FileRead = tuple[list[Found], dict[str, str]]


@dataclass(frozen=True)
class ExternalResults:
    """What a file or folder says: scores x 100 and settings by name, and names of scores and files by remark."""

    place: Path
    scores: Mapping[str, float]
    settings: Mapping[str, str]
    remarks: Mapping[str, Sequence[str]]

    def score(self, metric_path: str) -> float | None:
        """Return the score at a metric path of ours, which may have another name here; None where there is none."""
        return self.scores.get(metric_path, self.scores.get(SAME.get(metric_path, "")))

    def scores_listed(self) -> str:
        """Return which scores there are, in words."""
        scores = [
            f"{name} {score:.2f}" for name, score in self.scores.items() if _joint(name) not in self.scores
        ]
        return f"the {'' if any('-dev/' not in name for name in self.scores) else 'development '}scores {some(scores)}"

    def remark_lines(self) -> list[str]:
        """Return the remarks as sentences."""
        return [f"{remark}: {some(list(dict.fromkeys(names)))}" for remark, names in self.remarks.items()]


@dataclass(frozen=True)
class Differences:
    """Two results: settings that differ and scores of both, by name; names that only one has; remarks on each.

    A score is a, b, `difference` (b less a) and `standing`: equal to rounding, what numerics may do, or beyond.
    """

    a: str
    b: str
    settings: Mapping[str, Mapping[str, str]]
    scores: Mapping[str, Mapping[str, Any]]
    only_a: Sequence[str]
    only_b: Sequence[str]
    remarks_a: Sequence[str]
    remarks_b: Sequence[str]


def read_results(place: Path) -> ExternalResults:
    """Return what a results file says, or all files of a folder or of the one folder of results below it.

    Raises MissingData where there is none, BadInput for a place without a score and for several folders below it.
    """
    if not place.exists():
        raise MissingData(f"{place}: no such file or folder")
    inside = sorted(place.iterdir()) if place.is_dir() else [place.with_name(MODEL_META)]
    read = [] if place.is_dir() else [_read_file(place)]
    read += [_read_or_name(file) for file in inside if file.is_file() and file.suffix in KINDS]
    results = _gathered(place, read)
    if results.scores:
        return results
    if any(file.suffix in (".safetensors", ".bin") for file in inside):
        raise BadInput(f"{place}: an encoder; replicse evaluate --encoder {place} --out FILE scores it")
    below = [each for each in inside if each.is_dir() and any(each.rglob("*.json"))]
    if len(below) == 1:
        return read_results(below[0])
    if below:
        raise BadInput(f"{place}: several folders are below it; name one: {some(list(map(str, below)))}")
    raise BadInput("; ".join([f"{place}: no results file of {TOOLS} with a score", *results.remark_lines()]))


def _read_or_name(file: Path) -> FileRead:
    """Return what a file of a folder holds, or its name with why it is passed over."""
    try:
        found, settings = _read_file(file)
    except BadInput as error:
        return [(file.name, None, f"passed over, {str(error).removeprefix(f'{file}: ')}")], {}
    if found or file.name == MODEL_META:
        return found, settings
    return [(file.name, None, "passed over, no scores in it")], {}


def _gathered(place: Path, read: Sequence[FileRead]) -> ExternalResults:
    """Return what several files say: of two values of one name the first, and the averages of what is complete."""
    scores: dict[str, float] = {}
    settings: dict[str, str] = {}
    remarks = defaultdict(list)
    for found, stated in read:
        settings = stated | settings
        for name, score, remark in found:
            if score is not None and abs(scores.setdefault(name, score) - score) > ROUNDING:
                remarks["several values, of which the first is read"].append(name)
            elif remark:
                remarks[remark].append(name)
    results = ExternalResults(place, scores, settings, remarks)
    for name, parts in AVERAGED.items():
        values = [score for part in parts if (score := results.score(part)) is not None]
        if len(values) == len(parts):
            scores.setdefault(name, sum(values) / len(values))
    return results


def _read_file(place: Path) -> FileRead:
    """Return what is found in a file of any of the tools."""
    text = read_text(place, "save it as UTF-8")
    try:
        document = _mapping(json.loads(text))
    except ValueError as error:
        if place.suffix == ".json":
            raise BadInput(f"{place}: not JSON ({error})") from None
        return _by_place(_lines(text))
    if place.name == MODEL_META:
        return [], _words({"model": document})
    if not MTEB_KEYS.isdisjoint(document):
        return _mteb(document, place.stem)
    log = document.get("log_history")
    return _by_place(_flat(_best(log, document.get("best_metric")) if isinstance(log, list) else document))


def _best(log: Sequence[Any], best_metric: Any) -> Mapping[str, Any]:
    """Return the best evaluation in the log of SimCSE's trainer, or the last one where none is named."""
    evaluations = [entry for entry in map(_mapping, log) if "eval_stsb_spearman" in entry]
    best = [entry for entry in evaluations if best_metric in entry.values()]
    return (best or evaluations[-1:] or [{}])[0]


def _by_place(pairs: Iterable[tuple[str, Any]]) -> FileRead:
    """Return the scores and settings that lie where a tool keeps them."""
    found: list[Found] = []
    settings: dict[str, str] = {}
    for place, value in pairs:
        if setting := re.fullmatch(SETTINGS, place):
            settings[setting["name"]] = str(value)
        for tool, pattern, path, factor in PLACES:
            match = re.fullmatch(pattern, place)
            names = match.groupdict() if match else {"task": ""}
            if "task" in names:
                names["task"] = _task(names["task"])
            if all(names.values()):
                name, number = path.format(**names), value[0] if isinstance(value, list) and value else value
                known = (COSINE if factor == 100 else range_of(name) or ANY).holds(number)
                remark = "" if known else "not measured" if number is None else f"passed over, {number}"
                if known or name not in AVERAGED:  # that of some tasks is blank
                    found.append((name, factor * number if known else None, remark))
                settings["tool"] = tool
    return found, settings


def _task(name: str) -> str:
    return TASKS.get(name.casefold().replace("-", ""), "")


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the lines of SimCSE's trainer, and the cells of tables: a line of tasks above one of numbers.

    Above a table SimCSE prints its mode, which `STS12` tells too.
    """
    mode, tasks = "", list[str]()
    for line in map(str.strip, text.splitlines()):
        if stated := re.fullmatch(rf"(eval_\w+)\s*=\s*({NUMBER})", line):
            yield stated[1], float(stated[2])
        if stated := re.fullmatch(r"-+ (dev|test|fasttest) -+", line):
            mode = stated[1]
        between = r"[|&\t]" if re.search(r"[|&\t]", line) else r"\s+"
        cells = [cell.strip(" *") for cell in re.split(between, line.strip("|\\"))]
        named = [_task(cell) for cell in cells]
        if sum(map(bool, named)) > 1:
            tasks, mode = named, mode or ("test" if "STS12" in named else "")
        elif len(cells) == len(tasks):
            row = dict(zip(tasks, cells, strict=True))
            numbers = {task: float(cell) for task, cell in row.items() if re.fullmatch(NUMBER, cell)}
            percent = max(map(abs, numbers.values()), default=0) > 1
            for task, number in numbers.items():
                share = number / 100 if percent else number
                yield f"{task}/{mode}", (100 * share if task in TRANSFER_TASKS else share) or "0.00, not run"


def _mteb(document: Mapping[str, Any], stem: str) -> FileRead:
    """Return the main scores of a task, of today's files and of those before 1.11, and the settings."""
    named = document.get("task_name") or document.get("mteb_dataset_name")
    task = str(named or (stem if stem in categories() else "unnamed"))
    # Before 1.11 the splits lie among the settings.
    old = {key: part for key, part in document.items() if isinstance(part, Mapping)}
    splits = _mapping(document.get("scores", old))
    found = [_main_score(task, split, *entry) for split, parts in splits.items() for entry in _entries(parts)]
    settings = {key: value for key, value in document.items() if key not in (*NO_SETTINGS, *splits)}
    return found, _words({"tool": "mteb"} | {f"{task}: {key}": value for key, value in settings.items()})


def _entries(parts: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return subset and scores of a split: of today's list, or, before 1.11, of a mapping with or without subsets."""
    if isinstance(parts, list):
        return [(_mapping(part).get("hf_subset", "default"), _mapping(part)) for part in parts]
    entry = _mapping(parts)
    subsets = [(key, part) for key, part in entry.items() if isinstance(part, Mapping) and key not in NESTED]
    return subsets or [("default", entry)]


def _main_score(task: str, split: str, subset: str, entry: Mapping[str, Any]) -> Found:
    """Return the main score of an entry, or the first score there that may stand for it."""
    english = subset == "default" or (task in MTEB_NAMES and subset in ("en", "en-en"))
    main = english and split == ("dev" if task == "MSMARCO" else "test")
    name = f"mteb/{task}" if main else f"mteb/{task}/{split}/{subset}".removesuffix("/default")
    values = {path.replace("/", "_").replace("cos_sim", "cosine"): value for path, value in _flat(entry)}
    usual = METRICS if categories().get(task) != "BitextMining" else (METRICS[0], "f1")
    metric = next((metric for metric in usual if COSINE.holds(values.get(metric))), "")
    if not metric:
        return name, None, "passed over, no score from -1 to 1"
    return name, 100 * values[metric], "" if metric == METRICS[0] else f"no main_score, read by {metric}"


def _words(kept: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as text by name."""
    return {name: str(value) for name, value in _flat(kept) if value is not None}


def _mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _flat(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}/")
        else:
            yield f"{above}{key}", value


def compare_results(a: ExternalResults, b: ExternalResults) -> Differences:
    """Return what differs between two results; BadInput where they share no score.

    Of several aggregations of a task that both have, the first is compared.
    """
    both = {name: (one, other) for name, one in a.scores.items() if (other := b.score(name)) is not None}
    if not both:
        raise BadInput(f"no score is in both; A holds {a.scores_listed()}; B holds {b.scores_listed()}")
    stated = dict.fromkeys([*a.settings, *b.settings])
    settings = {name: {"a": a.settings.get(name, "-"), "b": b.settings.get(name, "-")} for name in stated}
    return Differences(
        str(a.place),
        str(b.place),
        {name: pair for name, pair in settings.items() if pair["a"] != pair["b"]},
        {name: _compared(*pair) for name, pair in both.items() if _joint(name) not in both},
        [name for name in a.scores if name not in both and _joint(name) not in a.scores],
        [name for name in b.scores if a.score(name) is None and _joint(name) not in b.scores],
        a.remark_lines(),
        b.remark_lines(),
    )


def _compared(a: float, b: float) -> dict[str, Any]:
    size = abs(b - a)
    standing = "equal" if size <= ROUNDING else "within numerics" if size <= NUMERICS else BEYOND
    return {"a": a, "b": b, "difference": b - a, "standing": standing}


def _joint(name: str) -> str:
    """Return the joint aggregation of a task by the name of another one; blank for any other name."""
    above, _, last = name.rpartition("/")
    return f"{above}/{AGGREGATIONS[0]}" if last in AGGREGATIONS[1:] else ""
