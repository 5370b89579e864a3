"""Parsers of scores in logs of SentEval, trainers and evaluators."""

import ast
import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from replicse.judge.values.result_scores import (
    Content,
    as_dict,
    flatten,
    rows_at_places,
    scores_at_places,
    task_of,
)
from replicse.registry.suites import STS_DEV_TASKS

NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
EVALUATION = re.compile(rf"(?:^|[\s>|])(eval[_/][^\s=:]+)\s*[=:]\s*({NUMBER})\s*$", re.MULTILINE)
# Lines of EmbeddingSimilarityEvaluator of sentence-transformers.
ON_DATA = re.compile(r"Evaluating the model on the (.*?) ?dataset")
SIMILARITY = re.compile(
    rf"(Cosine|Dot|Euclidean|Manhattan)[\w-]*\s*:\s*Pearson:\s*({NUMBER})\s*Spearman:\s*({NUMBER})"
)
# Lines of SentEval, which logs a block of lines for each task.
TASK = re.compile(r"\*{5} (?:\(Probing\) )?Transfer task ?: (.+?)\s*\*{5}")
SPEARMAN = re.compile(
    rf"(?:^|\s)(ALL|dev|test)(?: \((weighted average|average)\))? : pearson = \S+,\s+spearman = ({NUMBER}|nan)",
    re.IGNORECASE,
)
REGRESSION = re.compile(rf"Test : Pearson \S+ Spearman ({NUMBER}|nan) MSE")
ACCURACY = re.compile(rf"Dev acc : ({NUMBER}) Test acc :? ?({NUMBER})")
AGGREGATIONS = {None: "all", "weighted average": "wmean", "average": "mean"}
# The repr of numbers of numpy, correlations of scipy and arrays.
SCALARS = re.compile(r"(?:np\.|numpy\.)?float(?:16|32|64)\(([^()]*)\)")
CORRELATIONS = re.compile(r"\w+Result\((?:correlation|statistic)=([^,()]+), *pvalue=([^()]+)\)")
ARRAYS = re.compile(r"array\([^()]*\)")
NANS = re.compile(r"\b(?:nan|NaN)\b")


def log_scores(text: str) -> Content:
    """Parse the scores in a log.

    If a training was evaluated several times, the last evaluation is used.
    """
    evaluations: list[dict[str, Any]] = []
    content = scores_at_places(senteval_scores(text))
    for found in _evaluations_and_dicts(text):
        if any(_is_evaluation_key(key) for key in found):
            evaluations.append(found)
        else:
            content.scores.extend(scores_at_places(flatten(found)).scores)
            content.data.update(rows_at_places(flatten(found)))
    content.scores.extend(evaluation_scores(evaluations).scores)
    return content


def evaluation_scores(
    entries: Iterable[Mapping[str, Any]], best_metric: Any = None, best_step: Any = None
) -> Content:
    """Return the scores of one of the evaluations of a training.

    By default, the last evaluation is used.

    Args:
        entries: the logged entries as dicts.
        best_metric: the score of the best evaluation. Default: None.
        best_step: the step of the best evaluation. Default: None.
    """
    evaluations = _merge_entries(entries)
    if not evaluations:
        return Content()
    best: list[dict[str, Any]] = []
    if best_step is not None:
        best = [entry for entry in evaluations if entry.get("step") == best_step]
    if not best and best_metric is not None:
        best = [entry for entry in evaluations if best_metric in entry.values()]
    content = scores_at_places(flatten((best or evaluations[-1:])[0]))
    if len(evaluations) > 1:
        which = "the best" if best else "the last"
        _add_remark(content, f"{which} of {len(evaluations)} evaluations")
    return content


def _merge_entries(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with scores.

    Each dataset has an entry, so entries of the same step are merged.
    """
    evaluations: list[dict[str, Any]] = []
    for entry in entries:
        if not scores_at_places(flatten(entry)).scores:
            continue
        step = entry.get("step", entry.get("epoch"))
        before = evaluations[-1] if evaluations else {}
        if step is not None and step == before.get("step", before.get("epoch")):
            before.update(entry)
        else:
            evaluations.append(dict(entry))
    return evaluations


def _add_remark(content: Content, remark: str) -> None:
    """Add a remark to all scores without one."""
    content.scores[:] = [replace(each, remark=each.remark or remark) for each in content.scores]


def _evaluations_and_dicts(text: str) -> Iterator[dict[str, Any]]:
    """Yield the dicts and the evaluations in a log, in order.

    The values of an evaluation are logged line by line.
    """
    found: list[tuple[int, dict[str, Any]]] = [*_dicts(text), *_logged_values(text)]
    found.sort(key=lambda each: each[0])
    block: dict[str, Any] = {}
    for _, values in found:
        is_line = len(values) <= 2 and all(map(_is_evaluation_key, values))
        if block and not (is_line and block.keys().isdisjoint(values)):
            yield block
            block = {}
        if is_line:
            block |= values
        else:
            yield values
    if block:
        yield block


def _is_evaluation_key(key: object) -> bool:
    return str(key).startswith("eval")


def _logged_values(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield position and values of each line of an evaluation in a log."""
    for match in EVALUATION.finditer(text):
        yield match.start(), {match[1]: float(match[2])}
    name = "eval_"
    for match in re.finditer(f"{ON_DATA.pattern}|{SIMILARITY.pattern}", text):
        if match[2] is None:
            name = _evaluation_prefix(match[1])
            continue
        kind = match[2].casefold()
        values = {f"{name}pearson_{kind}": float(match[3]), f"{name}spearman_{kind}": float(match[4])}
        yield match.start(), values


def _evaluation_prefix(data: str) -> str:
    """Return the beginning of the metrics of a dataset: `eval_sts-dev_`."""
    return f"eval_{data}_" if data else "eval_"


def _dicts(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield position and content of each dict in a string."""
    end = 0
    for match in re.finditer(r"\{\s*['\"]", text):
        if match.start() < end:
            continue
        end = _end_of_braces(text, match.start())
        value = _literal(text[match.start() : end])
        if isinstance(value, dict):
            yield match.start(), value


def _end_of_braces(text: str, start: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _literal(text: str) -> Any:
    """Parse JSON or the repr of a Python value; None for any other string."""
    for replaced, by in ((SCALARS, r"\1"), (CORRELATIONS, r"(\1, \2)"), (ARRAYS, "None"), (NANS, "None")):
        text = replaced.sub(by, text)
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def senteval_scores(text: str) -> Iterator[tuple[str, Any]]:
    """Yield place and value of each score in a log of SentEval.

    Places are the keys of SentEval's results dict. `ALL` of STS-B and SICK-R contains the train, dev and test parts, so
    it is skipped.
    """
    task = ""
    for line in text.splitlines():
        header = TASK.search(line)
        if header:
            task = _senteval_task(header[1])
        if task:
            yield from _senteval_line(task, line)


def _senteval_line(task: str, line: str) -> Iterator[tuple[str, Any]]:
    """Yield the scores in a line of the block of a task."""
    if found := SPEARMAN.search(line):
        part, aggregation, value = found[1].casefold(), found[2], _parse(found[3])
        if part == "all" and task not in STS_DEV_TASKS:
            yield f"{task}/all/spearman/{AGGREGATIONS[aggregation and aggregation.casefold()]}", value
        elif part != "all" and task in STS_DEV_TASKS:
            yield f"{task}/{part}/spearman", value
    elif found := REGRESSION.search(line):
        yield f"{task}/spearman", _parse(found[1])
    elif found := ACCURACY.search(line):
        yield f"{task}/devacc", float(found[1])
        yield f"{task}/acc", float(found[2])


def _senteval_task(words: str) -> str:
    """Return the task in a header of SentEval's log, such as `STS13 (-SMT)`.

    Returns an empty string for an unknown task.
    """
    if words.startswith("SST "):
        return task_of("SST2" if "binary" in words.casefold() else "")
    return task_of(words.split()[0])


def _parse(number: str) -> float | None:
    return None if number.casefold() == "nan" else float(number)


def evaluator_scores(rows: Sequence[Sequence[str]], name: str) -> Content:
    """Return the last scores in a CSV file of sentence-transformers.

    Args:
        rows: the rows of the file as lists of strings, the header first.
        name: the name of the file without its suffix, such as `similarity_evaluation_sts-test_results`.
    """
    data = re.sub(r"_results$", "", name.partition("evaluation")[2]).strip("_")
    prefix = _evaluation_prefix(data)
    values: dict[str, Any] = {}
    for heading, cell in zip(rows[0][2:], rows[-1][2:], strict=False):
        metric = re.sub(r"^(\w+)_(pearson|spearman)$", r"\2_\1", heading)
        values[f"{prefix}{metric}"] = _literal(cell)
    content = scores_at_places(values.items())
    if len(rows) > 2:
        _add_remark(content, f"the last of {len(rows) - 1} evaluations")
    return content


def evaluator_rows(text: str) -> list[list[str]]:
    """Parse a CSV file of an evaluator of sentence-transformers.

    Returns an empty list for any other string.
    """
    if not text.startswith("epoch,steps,"):
        return []
    rows = list(filter(None, csv.reader(text.splitlines())))
    if len(rows) < 2:
        return []
    return rows


def trainer_scores(document: Mapping[str, Any]) -> Content:
    """Return the scores in the state file of a trainer."""
    log = document.get("log_history")
    if not isinstance(log, list):
        log = []
    entries = list(map(as_dict, log))
    return evaluation_scores(entries, document.get("best_metric"), document.get("best_global_step"))
