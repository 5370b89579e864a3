"""Scores in logs: of SentEval, of trainers and evaluators, and dictionaries that Python has printed."""

import ast
import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from replicse.judge.result_scores import Content, flat, mapping, rows_at_places, scores_at_places, task_of
from replicse.registry.suites import STS_DEV_TASKS

NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
EVALUATION = re.compile(rf"(?:^|[\s>|])(eval[_/][^\s=:]+)\s*[=:]\s*({NUMBER})\s*$", re.MULTILINE)
# What EmbeddingSimilarityEvaluator of sentence-transformers logs.
ON_DATA = re.compile(r"Evaluating the model on the (.*?) ?dataset")
SIMILARITY = re.compile(
    rf"(Cosine|Dot|Euclidean|Manhattan)[\w-]*\s*:\s*Pearson:\s*({NUMBER})\s*Spearman:\s*({NUMBER})"
)
# What SentEval logs: a block for each task.
TASK = re.compile(r"\*{5} (?:\(Probing\) )?Transfer task ?: (.+?)\s*\*{5}")
SPEARMAN = re.compile(
    rf"(?:^|\s)(ALL|dev|test)(?: \((weighted average|average)\))? : pearson = \S+,\s+spearman = ({NUMBER}|nan)",
    re.IGNORECASE,
)
REGRESSION = re.compile(rf"Test : Pearson \S+ Spearman ({NUMBER}|nan) MSE")
ACCURACY = re.compile(rf"Dev acc : ({NUMBER}) Test acc :? ?({NUMBER})")
AGGREGATIONS = {None: "all", "weighted average": "wmean", "average": "mean"}
# How Python prints numbers of numpy, correlations of scipy and arrays.
SCALARS = re.compile(r"(?:np\.|numpy\.)?float(?:16|32|64)\(([^()]*)\)")
CORRELATIONS = re.compile(r"\w+Result\((?:correlation|statistic)=([^,()]+), *pvalue=([^()]+)\)")
ARRAYS = re.compile(r"array\([^()]*\)")
NANS = re.compile(r"\b(?:nan|NaN)\b")


def log_scores(text: str) -> Content:
    """Return the scores in a log; of several evaluations of a training those of the last one."""
    evaluations: list[dict[str, Any]] = []
    content = scores_at_places(senteval_scores(text))
    for found in _evaluations_and_dictionaries(text):
        if any(str(key).startswith("eval") for key in found):
            evaluations.append(found)
        else:
            content.scores.extend(scores_at_places(flat(found)).scores)
            content.data.update(rows_at_places(flat(found)))
    content.scores.extend(evaluation_scores(evaluations).scores)
    return content


def evaluation_scores(
    entries: Iterable[Mapping[str, Any]], best_metric: Any = None, best_step: Any = None
) -> Content:
    """Return the scores of one of the evaluations of a training: of the best, or of the last if none is named."""
    evaluations: list[dict[str, Any]] = []
    for entry in entries:
        if not scores_at_places(flat(entry)).scores:
            continue
        # With several sets each has an entry of its own.
        when = entry.get("step", entry.get("epoch"))
        before = evaluations[-1] if evaluations else {}
        if when is not None and when == before.get("step", before.get("epoch")):
            before.update(entry)
        else:
            evaluations.append(dict(entry))
    if not evaluations:
        return Content()
    best = [entry for entry in evaluations if best_step is not None and entry.get("step") == best_step]
    best = best or [
        entry for entry in evaluations if best_metric is not None and best_metric in entry.values()
    ]
    content = scores_at_places(flat((best or evaluations[-1:])[0]))
    if len(evaluations) > 1:
        remark = f"{'the best' if best else 'the last'} of {len(evaluations)} evaluations"
        content.scores[:] = [replace(each, remark=each.remark or remark) for each in content.scores]
    return content


def _evaluations_and_dictionaries(text: str) -> Iterator[dict[str, Any]]:
    """Yield the dictionaries in a log, and the values of evaluations that are logged line by line, in their order."""
    found: list[tuple[int, dict[str, Any]]] = list(_dictionaries(text))
    for match in EVALUATION.finditer(text):
        found.append((match.start(), {match[1]: float(match[2])}))
    data = ""
    for match in re.finditer(f"{ON_DATA.pattern}|{SIMILARITY.pattern}", text):
        if match[2] is None:
            data = match[1]
            continue
        name = f"eval_{data}_" if data else "eval_"
        kind = match[2].casefold()
        values = {f"{name}pearson_{kind}": float(match[3]), f"{name}spearman_{kind}": float(match[4])}
        found.append((match.start(), values))
    found.sort(key=lambda each: each[0])
    block: dict[str, Any] = {}
    for _, values in found:
        lines = len(values) <= 2 and all(str(key).startswith("eval") for key in values)
        if block and not (lines and block.keys().isdisjoint(values)):
            yield block
            block = {}
        if lines:
            block |= values
        else:
            yield values
    if block:
        yield block


def _dictionaries(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the place of each dictionary in a text, and the dictionary."""
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
    """Return the value that a text of JSON or of Python prints; None for any other text."""
    for replaced, by in ((SCALARS, r"\1"), (CORRELATIONS, r"(\1, \2)"), (ARRAYS, "None"), (NANS, "None")):
        text = replaced.sub(by, text)
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def senteval_scores(text: str) -> Iterator[tuple[str, Any]]:
    """Yield place and value of each score in the log of SentEval, as its dictionary has them.

    `ALL` of STS-B and SICK-R joins their train, dev and test parts and is not read.
    """
    task = ""
    for line in text.splitlines():
        if header := TASK.search(line):
            task = _senteval_task(header[1])
        if not task:
            continue
        if found := SPEARMAN.search(line):
            part, how, value = found[1].casefold(), found[2], _parse(found[3])
            if part == "all" and task not in STS_DEV_TASKS:
                yield f"{task}/all/spearman/{AGGREGATIONS[how and how.casefold()]}", value
            elif part != "all" and task in STS_DEV_TASKS:
                yield f"{task}/{part}/spearman", value
        elif found := REGRESSION.search(line):
            yield f"{task}/spearman", _parse(found[1])
        elif found := ACCURACY.search(line):
            yield f"{task}/devacc", float(found[1])
            yield f"{task}/acc", float(found[2])


def _senteval_task(words: str) -> str:
    """Return the task that a header of SentEval's log names, as in `STS13 (-SMT)`; blank for an unknown one."""
    if words.startswith("SST "):
        return task_of("SST2" if "binary" in words.casefold() else "")
    return task_of(words.split()[0])


def _parse(number: str) -> float | None:
    return None if number.casefold() == "nan" else float(number)


def evaluator_scores(rows: Sequence[Sequence[str]], name: str) -> Content:
    """Return the scores of the last row of a CSV file that an evaluator of sentence-transformers has written.

    Args:
        rows: the cells of the file, those of its header first.
        name: the name of the file without its ending, as in `similarity_evaluation_sts-test_results`.
    """
    data = re.sub(r"_results$", "", name.partition("evaluation")[2]).strip("_")
    values: dict[str, Any] = {}
    for heading, cell in zip(rows[0][2:], rows[-1][2:], strict=False):
        metric = re.sub(r"^(\w+)_(pearson|spearman)$", r"\2_\1", heading)
        values[f"eval_{data}_{metric}" if data else f"eval_{metric}"] = _literal(cell)
    content = scores_at_places(values.items())
    if len(rows) > 2:
        remark = f"the last of {len(rows) - 1} evaluations"
        content.scores[:] = [replace(each, remark=each.remark or remark) for each in content.scores]
    return content


def evaluator_rows(text: str) -> list[list[str]]:
    """Return the cells of a CSV file of an evaluator of sentence-transformers; an empty list for any other text."""
    if not text.startswith("epoch,steps,"):
        return []
    rows = [row for row in csv.reader(text.splitlines()) if row]
    return rows if len(rows) > 1 else []


def trainer_scores(document: Mapping[str, Any]) -> Content:
    """Return the scores in the state of a trainer of transformers or sentence-transformers."""
    log = document.get("log_history")
    entries = [mapping(entry) for entry in log] if isinstance(log, list) else []
    return evaluation_scores(entries, document.get("best_metric"), document.get("best_global_step"))
