"""Read results files of others: mteb, SentEval, SimCSE, sentence-transformers, Weights & Biases, and RepliCSE."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import read_text
from replicse.judge.result_logs import evaluator_rows, evaluator_scores, log_scores, trainer_scores
from replicse.judge.result_mteb import is_mteb, read_mteb
from replicse.judge.result_scores import (
    AVERAGED,
    SAME,
    Content,
    ResultScore,
    flat,
    mapping,
    rows_at_places,
    scores_at_places,
    words_of,
)
from replicse.judge.result_tables import table_scores
from replicse.printable import some
from replicse.registry.suites import AGGREGATIONS

TOOLS = "mteb, SentEval, SimCSE, sentence-transformers, Weights & Biases or RepliCSE"
KINDS, MODEL_META = (".json", ".txt", ".log", ".out", ".csv"), "model_meta.json"
ROUNDING = 0.011
PREFIX = 12  # digits of a sha256 that are shown


@dataclass(frozen=True)
class ExternalResults:
    """What a file or folder says.

    `scores` are x 100 and `settings` text, by name. `remarks` are names of scores and files by remark. `data` and
    `inputs` are those of `Content`.
    """

    place: Path
    scores: Mapping[str, float]
    settings: Mapping[str, str]
    remarks: Mapping[str, Sequence[str]]
    data: Mapping[str, Mapping[str, str]]
    inputs: Mapping[str, str]

    def score(self, metric_path: str) -> float | None:
        """Return the score at a metric path of ours, which may have another name here; None if there is none."""
        return self.scores.get(metric_path, self.scores.get(SAME.get(metric_path, "")))

    def data_of(self, metric_path: str) -> dict[str, str]:
        """Return what is known of the data of a score: rows, digests, revisions."""
        facts: dict[str, str] = {}
        for path in (metric_path, SAME.get(metric_path, "")):
            parts = path.split("/") if path in self.scores else []
            for end in range(1, len(parts) + 1):
                facts |= self.data.get("/".join(parts[:end]), {})
        return facts

    def scores_listed(self) -> str:
        """Return which scores there are, in words."""
        names = [name for name in self.scores if other_aggregation(name) not in self.scores]
        scores = [f"{name} {self.scores[name]:.2f}" for name in names]
        only_development = all("-dev/" in name for name in self.scores)
        return f"the {'development ' if only_development else ''}scores {some(scores)}"

    def remark_lines(self) -> list[str]:
        """Return the remarks as sentences."""
        return [f"{remark}: {some(list(dict.fromkeys(names)))}" for remark, names in self.remarks.items()]


def read_results(place: Path) -> ExternalResults:
    """Return what a results file says, or all files of a folder or of the one folder of results below it.

    `FILE:MODEL` names one of several models in a file of mteb.

    Raises:
        MissingData: there is no such place.
        BadInput: no score is there, or several folders are below the place.
    """
    model = ""
    if not place.exists():
        file, _, model = str(place).partition(".json:")
        place = Path(f"{file}.json") if model else place
    if not place.exists():
        raise MissingData(f"{place}: no such file or folder")
    inside = sorted(place.iterdir()) if place.is_dir() else [place.with_name(MODEL_META)]
    files = [file for file in inside if file.is_file()]
    read = [] if place.is_dir() else [_read_file(place, model)]
    read += [_read_or_name(file) for file in files if file.suffix in KINDS]
    results = _gather(place, read)
    if results.scores:
        return results
    if any(file.suffix in (".safetensors", ".bin") for file in inside):
        raise BadInput(f"{place}: an encoder; replicse evaluate --encoder {place} --out FILE scores it")
    below = [each for each in inside if each.is_dir() and _holds_results(each)]
    if len(below) == 1:
        return read_results(below[0])
    if below:
        raise BadInput(f"{place}: several folders are below it; name one: {some(list(map(str, below)))}")
    others = [file.name for file in files if file.suffix not in KINDS and place.is_dir()]
    remarks = [*results.remark_lines(), *([f"not read: {some(others)}"] if others else [])]
    raise BadInput("; ".join([f"{place}: no results file of {TOOLS} with a score", *remarks]))


def _holds_results(folder: Path) -> bool:
    return any(file.suffix in KINDS for file in folder.rglob("*"))


def _read_or_name(file: Path) -> Content:
    """Return what a file of a folder holds, or its name with why it is passed over."""
    try:
        content = _read_file(file)
    except BadInput as error:
        problem = str(error).removeprefix(f"{file}: ")
        return Content([ResultScore(file.name, None, f"passed over, {problem}")])
    if content.scores or file.name == MODEL_META:
        return content
    return Content([ResultScore(file.name, None, "passed over, no scores in it")])


def _gather(place: Path, read: Sequence[Content]) -> ExternalResults:
    """Return what several files say: of two values of one name the first, and the averages of what is complete."""
    scores: dict[str, float] = {}
    remarks: dict[str, list[str]] = defaultdict(list)
    settings: dict[str, str] = {}
    data: dict[str, Mapping[str, str]] = {}
    inputs: dict[str, str] = {}
    for content in read:
        settings = {**content.settings, **settings}
        data = {**content.data, **data}
        inputs = {**content.inputs, **inputs}
        for score in content.scores:
            remark = score.remark
            if score.value is not None:
                first = scores.setdefault(score.path, score.value)
                is_equal = abs(first - score.value) <= ROUNDING
                remark = remark if is_equal else "several values, of which the first is read"
            if remark:
                remarks[remark].append(score.path)
    results = ExternalResults(place, scores, settings, remarks, data, inputs)
    for name, parts in AVERAGED.items():
        values = [value for part in parts if (value := results.score(part)) is not None]
        if len(values) == len(parts):
            scores.setdefault(name, sum(values) / len(values))
    return results


def _read_file(place: Path, model: str = "") -> Content:
    """Return what is found in a file of any of the tools."""
    text = read_text(place, "save it as UTF-8")
    try:
        document = mapping(json.loads(text))
    except ValueError as error:
        if place.suffix == ".json":
            raise BadInput(f"{place}: not JSON ({error})") from None
        return _read_lines(text, place.stem)
    if place.name == MODEL_META:
        return Content(settings=words_of({"model": document}))
    if is_mteb(document):
        return read_mteb(document, place, model)
    if "log_history" in document:
        return trainer_scores(document)
    content = scores_at_places(flat(document))
    content.data.update({**rows_at_places(flat(document)), **dict(_data_facts(document))})
    content.inputs.update(_inputs(document))
    return content


def _read_lines(text: str, name: str) -> Content:
    """Return the scores in a text: a CSV file of an evaluator, or a log with tables."""
    if rows := evaluator_rows(text):
        return evaluator_scores(rows, name)
    content, tables = log_scores(text), scores_at_places(table_scores(text))
    content.scores.extend(tables.scores)
    content.settings.update(tables.settings)
    return content


def _data_facts(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the facts that a result of ours has about the data of a task: rows, and a digest of its files."""
    digests = mapping(mapping(document.get("inputs")).get("data"))
    for path, digest in digests.items():
        yield path, {"sha256": _short(str(digest))}
    for suite, tasks in mapping(document.get("suites")).items():
        for task, numbers in mapping(tasks).items():
            facts = {key: str(value) for key, value in mapping(numbers).items() if key in ("n", "sha256")}
            if path := f"{suite}/{task}" if facts else "":
                digest = {"sha256": _short(str(digests[path]))} if path in digests else {}
                yield path, {key: _short(value) for key, value in facts.items()} | digest


def _inputs(document: Mapping[str, Any]) -> dict[str, str]:
    inputs = {name: value for name, value in mapping(document.get("inputs")).items() if name != "data"}
    return {name: _short(str(value)) for name, value in inputs.items()}


def _short(text: str) -> str:
    """Return a text with the beginning of each sha256."""
    return " ".join(word[:PREFIX] if len(word) == 64 and word.isalnum() else word for word in text.split())


def other_aggregation(name: str) -> str:
    """Return the joint aggregation of a task by the name of another one; blank for any other name."""
    above, _, last = name.rpartition("/")
    return f"{above}/{AGGREGATIONS[0]}" if last in AGGREGATIONS[1:] else ""
