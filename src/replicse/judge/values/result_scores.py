"""Scores and settings of other tools under the names of RepliCSE."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from replicse.registry.ranges import ANY
from replicse.registry.suites import (
    COSINE,
    STS_DEV_TASKS,
    STS_TASKS,
    SUITES,
    TRANSFER_TASKS,
    range_of,
)

# Tasks by their names in SentEval, tables and SimCSE's trainer, without case and hyphens.
TASKS = {name.casefold().replace("-", ""): name for name in (*STS_TASKS, *TRANSFER_TASKS)}
TASKS |= {"stsbenchmark": "STS-B", "sickrelatedness": "SICK-R"}
SIMILARITY = r"(?P<task>(STS|SICK)[\w-]+?)(-finetune)?"
TRANSFER = r"(?P<task>(?!STS|SICK)\w+)"
# Metrics of the evaluators of sentence-transformers, as named by the trainer.
METRIC = (
    r"(pearson|spearman)_(cosine|dot|euclidean|manhattan|max)"
    r"|((cosine|dot|euclidean|manhattan|max)[_-])?(accuracy|f1|ap|mcc|map|precision|recall|average_precision"
    r"|(accuracy|precision|recall|mrr|ndcg|map)@\d+)"
)
UNNAMED = "unnamed"  # used if an evaluator of sentence-transformers has no name
# Tool, place where the file contains a score, metric path, and the factor that converts the score to x 100.
PLACES = (
    ("RepliCSE", r"suites/(?P<path>.+/(?!(n|low|high|file|sha256)$)[^/]+)", "{path}", 1),
    ("SentEval", SIMILARITY + r"/all/spearman/(?P<name>all|mean|wmean)", "sts/{task}/{name}", 100),
    ("SentEval", SIMILARITY + r"/(fast)?test(/spearman)?", "sts/{task}/all", 100),
    ("SentEval", SIMILARITY + r"/dev(/spearman)?", "sts-dev/{task}/all", 100),
    ("SentEval", SIMILARITY + r"/spearman", "variants/stsb-regressor/{task}", 100),
    ("SentEval", TRANSFER + r"/(acc|(fast)?test)", "transfer/{task}/accuracy", 1),
    ("SentEval", TRANSFER + r"/dev(acc)?", "transfer-dev/{task}/dev_accuracy", 1),
    ("SimCSE", r"eval[_/](?P<task>stsb|sickr)_spearman", "sts-dev/{task}/all", 100),
    ("SimCSE", r"eval[_/]" + TRANSFER, "transfer-dev/{task}/dev_accuracy", 1),
    ("a trainer", rf"eval[_/]((?P<name>.+?)_)??(?P<metric>(?i:{METRIC}))", "eval/{name}/{metric}", 100),
)
SETTINGS = (
    r"(provenance/)?"
    r"(?P<name>encoder|pooling|max_length|width|tokenizer|engine|step|(postprocess|device|versions|precision).*)"
)
# Scores with two names. SICK-R of mteb uses another test set, so it is not included.
SAME = {"mteb/STSBenchmark": "sts/STS-B/all"}
SAME |= {f"mteb/{task}": f"sts/{task}/all" for task in STS_TASKS if task not in STS_DEV_TASKS}
SAME |= {ours: theirs for theirs, ours in SAME.items()}
# The parts of each average over several tasks.
AVERAGED: dict[str, tuple[str, ...]] = {}
for _suite in ("sts", "transfer", "transfer-dev", "mteb"):
    for _name, _parts in SUITES[_suite].averages.items():
        if len(_parts) > 1:
            AVERAGED[f"{_suite}/{_name}"] = tuple(f"{_suite}/{part}" for part in _parts)
NOT_MEASURED = "not measured"
# Places where SentEval writes row counts, for each part of an STS year and each split of another dataset.
COUNTS = (
    (r"(?P<task>STS\d\d)/[^/]+/nsamples", "sts/{task}"),
    (SIMILARITY + r"/test/nsamples", "sts/{task}"),
    (SIMILARITY + r"/dev/nsamples", "sts-dev/{task}"),
    (TRANSFER + r"/ntest", "transfer/{task}"),
    (TRANSFER + r"/ndev", "transfer-dev/{task}"),
)


@dataclass(frozen=True)
class ResultScore:
    """A score x 100 at a metric path, with a remark.

    A score with value None is skipped, and the remark is the reason. By default, there is no remark.
    """

    path: str
    value: float | None
    remark: str = ""


@dataclass(frozen=True)
class Content:
    """The content of a results file.

    Attributes:
        scores: list of scores.
        settings: settings as strings, by name.
        data: facts about the dataset of scores, such as `n` or `sha256`, by metric path or a common prefix.
        inputs: digests of the evaluated encoder and datasets, and the prompts, by name.
        pairs: cosines and gold scores of the sentence pairs of scores, packed, by metric path.
    """

    scores: list[ResultScore] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    data: dict[str, dict[str, str]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, Mapping[str, str]] = field(default_factory=dict)


def scores_at_places(pairs: Iterable[tuple[str, Any]]) -> Content:
    """Parse the scores and settings among values by place in a file.

    Args:
        pairs: place and value. A place is a path such as `STS12/all/spearman/all`.
    """
    content = Content()
    for place, value in pairs:
        setting = re.fullmatch(SETTINGS, place)
        if setting:
            content.settings[setting["name"]] = str(value)
        for tool, pattern, path, factor in PLACES:
            names = _names(pattern, place)
            if names:
                score = _score(path.format(**names), value, factor)
                # An average is null if only some tasks were evaluated; skip it.
                if score.value is not None or score.path not in AVERAGED:
                    content.scores.append(score)
                content.settings["tool"] = tool
                break
    return content


def rows_at_places(pairs: Iterable[tuple[str, Any]]) -> dict[str, dict[str, str]]:
    """Count the rows `n` of the datasets of SentEval.

    Args:
        pairs: place and value, as in `scores_at_places`.

    Returns:
        Dict from the common prefix of the metric paths of a task to `{"n": "3108"}`.
    """
    counts: Counter[str] = Counter()
    for place, value in pairs:
        for pattern, path in COUNTS:
            names = _names(pattern, place)
            if names and isinstance(value, int):
                counts[path.format(**names)] += value
    return {path: {"n": str(count)} for path, count in counts.items()}


def _names(pattern: str, place: str) -> dict[str, str]:
    """Return the named groups of a place that matches a pattern.

    Returns an empty dict for other places and unknown tasks.
    """
    match = re.fullmatch(pattern, place)
    if not match:
        return {}
    names = {key: value or UNNAMED for key, value in match.groupdict().items()}
    if "task" in names:
        names["task"] = task_of(names["task"])
    return names if all(names.values()) else {}


def _score(path: str, value: Any, factor: int) -> ResultScore:
    """Return a value as a score x 100.

    A value out of range is skipped with a remark.
    """
    number = value[0] if isinstance(value, list | tuple) and value else value
    limits = COSINE if factor == 100 else range_of(path) or ANY
    if limits.holds(number):
        return ResultScore(path, factor * number)
    if number is None:
        return ResultScore(path, None, NOT_MEASURED)
    return ResultScore(path, None, f"skipped, value {number}")


def task_of(name: str) -> str:
    """Return the task for a name in another tool.

    Returns an empty string if the task is unknown.
    """
    return TASKS.get(name.casefold().replace("-", ""), "")


def setting_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return nested settings as a dict from name to string.

    Settings with value None are skipped.
    """
    return {name: str(value) for name, value in flatten(settings) if value is not None}


def as_dict(value: object) -> Mapping[str, Any]:
    """Return a dict unchanged, and an empty dict for anything else."""
    return value if isinstance(value, Mapping) else {}


def flatten(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield place and value of each value in nested dicts.

    Args:
        node: the nested dicts.
        prefix: the beginning of each place. Default: an empty string.

    Yields:
        The keys joined by "/", and the value.
    """
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value
