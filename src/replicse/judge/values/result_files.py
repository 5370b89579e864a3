"""Results files of other tools and of RepliCSE."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import parse_json, read_json, read_text
from replicse.judge.values.result_logs import evaluator_rows, evaluator_scores, log_scores, trainer_scores
from replicse.judge.values.result_mteb import is_mteb, read_mteb
from replicse.judge.values.result_scores import (
    AVERAGED,
    SAME,
    Content,
    ResultScore,
    as_dict,
    flatten,
    rows_at_places,
    scores_at_places,
    setting_texts,
)
from replicse.judge.values.result_tables import table_scores
from replicse.printable import some
from replicse.registry.suites import AGGREGATIONS

TOOLS = "mteb, SentEval, SimCSE, sentence-transformers, Weights & Biases or RepliCSE"
KINDS, MODEL_META = (".json", ".txt", ".log", ".out", ".csv"), "model_meta.json"
PAIRS = ".pairs.json"  # the suffix of the cosines that `evaluate` writes next to the scores
ROUNDING = 0.011
PREFIX = 12  # number of shown digits of a sha256


@dataclass(frozen=True)
class ExternalResults:
    """The content of a results file or folder.

    Attributes:
        place: the file or folder.
        scores: scores x 100, by name.
        settings: settings as strings, by name.
        remarks: dict from remark to the names of scores and files.
        data: facts about the dataset of scores, such as `n` or `sha256`, by metric path or a common prefix.
        inputs: digests of the evaluated encoder and datasets, and the prompts, by name.
        pairs: cosines and gold scores of the sentence pairs of scores, packed, by metric path.
    """

    place: Path
    scores: Mapping[str, float]
    settings: Mapping[str, str]
    remarks: Mapping[str, Sequence[str]]
    data: Mapping[str, Mapping[str, str]]
    inputs: Mapping[str, str]
    pairs: Mapping[str, Mapping[str, str]]

    def score(self, metric_path: str) -> float | None:
        """Return the score at a metric path; None if it does not exist.

        The score may have another name in the file.
        """
        return self.scores.get(metric_path, self.scores.get(SAME.get(metric_path, "")))

    def data_of(self, metric_path: str) -> dict[str, str]:
        """Return the rows, digests and revisions of the dataset of a score."""
        facts: dict[str, str] = {}
        for path in (metric_path, SAME.get(metric_path, "")):
            if path not in self.scores:
                continue
            parts = path.split("/")
            for end in range(1, len(parts) + 1):
                facts |= self.data.get("/".join(parts[:end]), {})
        return facts

    def scores_listed(self) -> str:
        """Return the names and values of the scores as a string."""
        names = main_scores(self)
        scores = [f"{name} {self.scores[name]:.2f}" for name in names]
        kind = "development " if all("-dev/" in name for name in self.scores) else ""
        return f"the {kind}scores {some(scores)}"

    def remark_lines(self) -> list[str]:
        """Return the remarks as a list of sentences."""
        return [f"{remark}: {some(list(dict.fromkeys(names)))}" for remark, names in self.remarks.items()]


def read_results(place: Path) -> ExternalResults:
    """Load a results file, or all results files of a folder.

    If a folder contains no results, but exactly one of its subfolders does, the subfolder is used.

    Args:
        place: the file or folder; `FILE:MODEL` specifies one of several models in a file of mteb.

    Raises:
        MissingData: if the file or folder does not exist.
        BadInput: if it contains no score, or if several subfolders contain results.
    """
    model = ""
    if not place.exists():
        file, _, model = str(place).partition(".json:")
        place = Path(f"{file}.json") if model else place
    if not place.exists():
        raise MissingData(f"{place} does not exist")
    if place.is_dir():
        inside, contents = sorted(place.iterdir()), []
    else:
        inside, contents = [place.with_name(MODEL_META)], [_read_file(place, model)]
    files = [file for file in inside if file.is_file()]
    contents += [
        _read_or_name(file) for file in files if file.suffix in KINDS and not file.match(f"*{PAIRS}")
    ]
    results = _gather(place, contents)
    if results.scores:
        return results
    if any(file.suffix in (".safetensors", ".bin") for file in inside):
        raise BadInput(
            f"{place}: is an encoder; evaluate it with replicse evaluate --encoder {place} --out FILE"
        )
    below = [each for each in inside if each.is_dir() and _has_results(each)]
    if len(below) == 1:
        return read_results(below[0])
    if below:
        raise BadInput(
            f"{place}: contains several results folders; specify a folder: {some(list(map(str, below)))}"
        )
    others = [file.name for file in files if file.suffix not in KINDS and place.is_dir()]
    remarks = results.remark_lines()
    if others:
        remarks.append(f"skipped: {some(others)}")
    raise BadInput("; ".join([f"{place}: cannot find a results file of {TOOLS} with a score", *remarks]))


def _has_results(folder: Path) -> bool:
    return any(file.suffix in KINDS for file in folder.rglob("*"))


def _read_or_name(file: Path) -> Content:
    """Load a file of a folder.

    If the file contains no scores, the result is a remark on why it is skipped.
    """
    try:
        content = _read_file(file)
    except BadInput as error:
        problem = str(error).removeprefix(f"{file}: ")
        return Content([ResultScore(file.name, None, f"skipped, {problem}")])
    if content.scores or file.name == MODEL_META:
        return content
    return Content([ResultScore(file.name, None, "skipped, it does not contain scores")])


def _gather(place: Path, contents: Sequence[Content]) -> ExternalResults:
    """Merge the contents of several files and compute averages.

    If a score has several values, the first is used.
    """
    scores: dict[str, float] = {}
    remarks: dict[str, list[str]] = defaultdict(list)
    settings: dict[str, str] = {}
    data: dict[str, Mapping[str, str]] = {}
    inputs: dict[str, str] = {}
    pairs: dict[str, Mapping[str, str]] = {}
    for content in contents:
        settings = {**content.settings, **settings}
        data = {**content.data, **data}
        inputs = {**content.inputs, **inputs}
        pairs = {**content.pairs, **pairs}
        for score in content.scores:
            remark = score.remark
            if score.value is not None:
                first = scores.setdefault(score.path, score.value)
                if abs(first - score.value) > ROUNDING:
                    remark = "several values, the first is used"
            if remark:
                remarks[remark].append(score.path)
    results = ExternalResults(place, scores, settings, remarks, data, inputs, pairs)
    for name, parts in AVERAGED.items():
        found = map(results.score, parts)
        values = [value for value in found if value is not None]
        if len(values) == len(parts):
            scores.setdefault(name, sum(values) / len(values))
    return results


def _read_file(place: Path, model: str = "") -> Content:
    """Load a file of any of the tools.

    By default, the file contains the results of a single model.
    """
    text = read_text(place, "save it as UTF-8")
    try:
        document = as_dict(parse_json(text))
    except ValueError as error:
        if place.suffix == ".json":
            raise BadInput(f"{place}: cannot parse JSON ({error})") from None
        return _read_lines(text, place.stem)
    if place.name == MODEL_META:
        return Content(settings=setting_texts({"model": document}))
    if is_mteb(document):
        return read_mteb(document, place, model)
    if "log_history" in document:
        return trainer_scores(document)
    content = scores_at_places(flatten(document))
    content.data.update({**rows_at_places(flatten(document)), **dict(_data_facts(document))})
    content.inputs.update(_inputs(document))
    pairs = place.with_suffix(PAIRS)
    if pairs.is_file():
        content.pairs.update({f"{path}/all": sides for path, sides in as_dict(read_json(pairs)).items()})
    return content


def _read_lines(text: str, name: str) -> Content:
    """Parse the scores in a CSV file of an evaluator, or in a log."""
    rows = evaluator_rows(text)
    if rows:
        return evaluator_scores(rows, name)
    content, tables = log_scores(text), scores_at_places(table_scores(text))
    content.scores.extend(tables.scores)
    content.settings.update(tables.settings)
    return content


def _data_facts(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the facts about the dataset of each task in a file of RepliCSE.

    The facts are the number of rows and a digest of the files.
    """
    digests = as_dict(as_dict(document.get("inputs")).get("data"))
    for path, digest in digests.items():
        yield path, {"sha256": _shorten(str(digest))}
    for suite, tasks in as_dict(document.get("suites")).items():
        for task, entries in as_dict(tasks).items():
            numbers = as_dict(entries)
            facts = {key: _shorten(str(numbers[key])) for key in numbers if key in ("n", "sha256")}
            path = f"{suite}/{task}"
            if facts and path in digests:
                facts["sha256"] = _shorten(str(digests[path]))
            if facts:
                yield path, facts


def _inputs(document: Mapping[str, Any]) -> dict[str, str]:
    inputs = as_dict(document.get("inputs"))
    return {name: _shorten(str(value)) for name, value in inputs.items() if name != "data"}


def _shorten(text: str) -> str:
    """Return a string in which each sha256 is cut to 12 digits."""
    words = []
    for word in text.split():
        is_sha256 = len(word) == 64 and word.isalnum()
        words.append(word[:PREFIX] if is_sha256 else word)
    return " ".join(words)


def other_aggregation(name: str) -> str:
    """Return the name of the joint aggregation of a task.

    Args:
        name: the name of a score with another aggregation, such as `sts/STS12/mean`.

    Returns:
        The name with the joint aggregation, such as `sts/STS12/all`; an empty string for other scores.
    """
    above, _, last = name.rpartition("/")
    if last in AGGREGATIONS[1:]:
        return f"{above}/{AGGREGATIONS[0]}"
    return ""


def main_scores(results: ExternalResults) -> list[str]:
    """Return the names of scores without other aggregations of the same task.

    Args:
        results: the results.
    """
    return [name for name in results.scores if other_aggregation(name) not in results.scores]
