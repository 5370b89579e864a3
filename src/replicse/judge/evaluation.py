"""One evaluation file, held to the place it lies in, to its own parts, and to where each metric lies."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from replicse.checked import excerpt
from replicse.errors import BadInput
from replicse.files import read_json, sha256_of
from replicse.registry.ranges import ANY
from replicse.registry.registry import current
from replicse.registry.suites import range_of

# What an evaluation holds, each part by metric path or by name.
PARTS = ("failures", "pairs", "provenance")
# Averages are of parts rounded to two decimals; cosines are kept with seven digits, which may change an order.
ROUNDING, REORDERED = 0.0101, 0.05


def read_evaluation(
    path: str,
    place: Mapping[str, Any],
    sets: Mapping[str, Any],
    asked: Iterable[str],
    partly: bool,
) -> dict[str, Any]:
    """Return the content of an evaluation file.

    `place` is what a file in this place says of its encoder, `sets` are a study's own sets by name, `asked` the metric
    paths that are read of it, `partly` whether a suite may still be to come. BadInput names what contradicts them, what
    is absent, what is no evaluation, and numbers that no encoder has or that other parts of the file contradict.
    """
    evaluation = read_json(path)
    problems = chain(_problems(evaluation, place), _absent(evaluation, asked, partly))
    if problem := _misshapen(evaluation) or next(problems, ""):
        raise BadInput(f"{path}: {problem}; delete it and evaluate again")
    checked_record(evaluation.get("provenance", {}), path, "delete it and evaluate again")
    for name, numbers in evaluation["suites"].get("sets", {}).items():
        file = sets.get(name, {}).get("file", "")
        if Path(file).is_file() and numbers.get("sha256") != sha256_of(file):
            raise BadInput(
                f"{path}: {name} was measured on other data than {file} holds; delete it and evaluate again"
            )
    return evaluation


def checked_record(record: object, path: str, remedy: str) -> Mapping[str, Any]:
    """Return a provenance record, as an evaluation or a run keeps it; BadInput where it is none."""
    if isinstance(record, Mapping):
        before = record.get("resumed_from", [])
        if isinstance(before, list) and all(isinstance(each, Mapping) for each in before):
            return record
    raise BadInput(f"{path}: holds no record of what it was made with; {remedy}")


def _misshapen(document: Any) -> str:
    """Return what keeps a document from being an evaluation; blank where nothing does."""
    if not isinstance(document, Mapping) or not isinstance(document.get("suites"), Mapping):
        return "holds no suites"
    wrong = next((part for part in PARTS if not isinstance(document.get(part, {}), Mapping)), None)
    return f"{wrong} is {excerpt(document[wrong])}, not a mapping" if wrong else ""


def _problems(evaluation: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[str]:
    for key, expected in place.items():
        if key not in evaluation:
            yield f"{key} is absent, but the encoder in its place has {excerpt(expected)}"
        elif not _says(evaluation[key], expected):
            yield f"{key} is {excerpt(evaluation[key])}, but the encoder in its place has {excerpt(expected)}"
    for path, reason in evaluation.get("failures", {}).items():
        if not isinstance(reason, str):
            yield f"the failure of {path} is {excerpt(reason)}, not a sentence"
    for suite, numbers in evaluation["suites"].items():
        if not isinstance(numbers, Mapping):
            yield f"suite {suite} is {excerpt(numbers)}, not a mapping"
        yield from _beyond(suite, numbers)
        yield from _other_means(suite, numbers)
    for task, sides in evaluation.get("pairs", {}).items():
        yield from _other_pairs(task, sides, part_at(evaluation["suites"], task))


def _says(entry: object, expected: object) -> bool:
    """Return whether a file says what is expected; a corpus may be recorded with the rows that it must have as well."""
    if isinstance(expected, Mapping) and isinstance(entry, Mapping):
        return all(key in entry and _says(entry[key], value) for key, value in expected.items())
    return entry == expected


def _absent(evaluation: Mapping[str, Any], asked: Iterable[str], partly: bool) -> Iterator[str]:
    """Yield which metric paths an evaluation has no place for: neither a number, nor null, nor a reason."""
    suites, failures = evaluation["suites"], evaluation.get("failures", {})
    for path in asked:
        above, _, last = path.rpartition("/")
        waits = partly and path.partition("/")[0] not in suites
        if not (waits or path in failures or last in (part_at(suites, above) or ())):
            yield f"holds no {path}"


def part_at(node: Any, path: str) -> Any:
    """Return what is at a path of keys; None where nothing is."""
    for key in path.split("/"):
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _number(node: Any, path: str) -> float | None:
    value = part_at(node, path)
    return value if ANY.holds(value) else None


def _beyond(path: str, node: Any) -> Iterator[str]:
    """Yield what is no number or text that a metric path may have, and neighbours in the wrong order."""
    limits = range_of(path)
    if limits is not None and node is not None:
        if not limits.holds(node):
            yield f"{path} is {excerpt(node)}; expected {limits}"
    elif isinstance(node, Mapping):
        for key, inner in node.items():
            yield from _beyond(f"{path}/{key}", inner)
        suite = current().suites.get(path.partition("/")[0])
        keys = [key for key in (suite.rising if suite else ()) if _number(node, key) is not None]
        for low, high in pairwise(keys):
            if node[low] > node[high] + 1e-6:
                yield f"{path}/{low} is {node[low]}, above {high}, which is {node[high]}"
        yield from _outside(path, node)
    elif isinstance(node, list) and not all(map(ANY.holds, node)):
        yield f"{path} holds {excerpt(node)}, not finite numbers alone"


def _other_means(suite: str, numbers: Any) -> Iterator[str]:
    """Yield averages that are not those of their parts, where all of these are there."""
    entry = current().suites.get(suite)
    averages = entry.averages if entry else {}
    for name, paths in averages.items():
        value = _number(numbers, name)
        parts = [part for path in paths if (part := _number(numbers, path)) is not None]
        if value is None or len(parts) < len(paths):
            continue
        if abs(value - math.fsum(parts) / len(parts)) > ROUNDING:
            yield f"{suite}/{name} is {value}, but its parts have the mean {math.fsum(parts) / len(parts):.2f}"


def _other_pairs(task: str, sides: Any, numbers: Any) -> Iterator[str]:
    """Yield how pairs of a task are broken, or what they say against its scores."""
    import numpy as np

    from replicse.evaluation.correlation import spearman
    from replicse.judge.pairs import unpacked

    try:
        cosine, gold = (unpacked(sides[name]) for name in ("cosine", "gold"))
    except (KeyError, TypeError, ValueError):
        yield f"the pairs of {task} are {excerpt(sides)}, not cosines and gold scores"
        return
    if len(cosine) != len(gold):
        yield f"{task} has {len(cosine)} cosines for {len(gold)} gold scores"
        return
    count, score = _number(numbers, "n"), _number(numbers, "all")
    if count is not None and count != len(gold):
        yield f"{task}/n is {count}, but {len(gold)} pairs are kept"
    found = spearman(cosine, gold)
    if score is None or found is None or abs(100 * found - score) <= REORDERED:
        return
    # Cosines that seven digits tell apart no longer may have stood in any order.
    orders = (np.lexsort((by, cosine)).argsort() for by in (gold, -gold))
    ends = sorted(100 * (spearman(order, gold) or 0.0) for order in orders)
    if not ends[0] - REORDERED <= score <= ends[1] + REORDERED:
        yield f"{task}/all is {score}, but its pairs have {100 * found:.2f}"


def _outside(path: str, node: Mapping[str, Any]) -> Iterator[str]:
    """Yield a correlation far from the interval of its resamples, which need not be centred on it."""
    low, score, high = (_number(node, name) for name in ("low", "all", "high"))
    if low is not None and score is not None and high is not None:
        slack = max(1.0, high - low)
        if not low - slack <= score <= high + slack:
            yield f"{path}/all is {score}, but its own interval goes from {low} to {high}"
