"""Read an evaluation file and check its shape, its encoder, its numbers and its pairs."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from replicse.checked import excerpt
from replicse.errors import BadInput
from replicse.files import read_json
from replicse.registry.plugins import plugin_places, suite_code
from replicse.registry.ranges import ANY
from replicse.registry.registry import current
from replicse.registry.suites import range_of

if TYPE_CHECKING:
    import numpy as np

# What an evaluation holds, each part by metric path or by name.
PARTS = ("failures", "pairs", "provenance")
REMEDY = "delete it and evaluate again"
ROUNDING = 0.0101  # averages are of parts rounded to two decimals
REORDERED = 0.05  # points by which cosines of 32 bits, as older files have them, change a correlation


def read_evaluation(
    path: str,
    place: Mapping[str, Any],
    tables: Mapping[str, tuple[str, str]],
    asked: Iterable[str],
    partly: bool,
) -> dict[str, Any]:
    """Read an evaluation file and check all of it.

    Args:
        path: the file.
        place: what a file in this place says of its encoder.
        tables: file and sha256 of the table of each own set of a study, by name.
        asked: the metric paths that are read of the file.
        partly: whether a suite may still be to come.

    Returns:
        The content of the file.

    Raises:
        BadInput: the file is no evaluation, or a check below fails.
    """
    evaluation: dict[str, Any] = read_json(path)
    check_evaluation(evaluation, path, place, asked, partly)
    check_pairs(evaluation, path)
    check_set_tables(evaluation, path, tables)
    return evaluation


def check_evaluation(
    evaluation: Any, path: str, place: Mapping[str, Any], asked: Iterable[str], partly: bool
) -> None:
    """Check shape, encoder, ranges and averages of an evaluation, without its pairs.

    Raises:
        BadInput: names what is misshapen, absent, out of range, or contradicts the place or other numbers.
    """
    problems = chain(_problems(evaluation, place), _absent(evaluation, asked, partly))
    if problem := _misshapen(evaluation) or next(problems, ""):
        raise BadInput(f"{path}: {problem}; {_remedy(problem)}")
    checked_record(evaluation.get("provenance", {}), path, REMEDY)


def check_pairs(evaluation: Mapping[str, Any], path: str) -> None:
    """Check that the pairs of a well-formed evaluation have its correlations and counts.

    This decodes and ranks every pair: it takes as long as all other checks of a file together.

    Raises:
        BadInput: names the task and what its pairs have instead.
    """
    for task, sides in evaluation.get("pairs", {}).items():
        if problem := _pairs_problem(task, sides, part_at(evaluation["suites"], task)):
            raise BadInput(f"{path}: {problem}; {REMEDY}")


def check_set_tables(evaluation: Mapping[str, Any], path: str, tables: Mapping[str, tuple[str, str]]) -> None:
    """Check that own sets were measured on the tables as they are now.

    Raises:
        BadInput: names a set whose table has another sha256.
    """
    for name, numbers in evaluation["suites"].get("sets", {}).items():
        file, sha256 = tables.get(name, ("", ""))
        if file and numbers.get("sha256") != sha256:
            raise BadInput(f"{path}: {name} was measured on other data than {file} has now; {REMEDY}")


def checked_record(record: object, path: str, remedy: str) -> Mapping[str, Any]:
    """Return a provenance record, as an evaluation or a run keeps it; BadInput where it is none."""
    if isinstance(record, Mapping):
        before = record.get("resumed_from", [])
        if isinstance(before, list) and all(isinstance(each, Mapping) for each in before):
            return record
    raise BadInput(f"{path}: holds no record of what it was made with; {remedy}")


def _remedy(problem: str) -> str:
    """Return the remedy of a problem; a suite of a plug-in would give the same numbers again."""
    places = plugin_places()
    for suite in current().suites:
        place = places.get(suite_code(suite))
        if place and re.search(rf"\b{re.escape(suite)}\b", problem):
            return f"fix suite {suite} in {place}"
    return REMEDY


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


def _pairs_problem(task: str, sides: Any, numbers: Any) -> str:
    """Return how pairs of a task are broken or contradict its numbers; blank if they are right."""
    from replicse.evaluation.correlation import spearman
    from replicse.judge.pairs import MARK, unpack_side

    try:
        cosine, gold = (unpack_side(sides[name]) for name in ("cosine", "gold"))
    except (KeyError, TypeError, ValueError):
        return f"the pairs of {task} are {excerpt(sides)}, not cosines and gold scores"
    if len(cosine) != len(gold):
        return f"{task} has {len(cosine)} cosines for {len(gold)} gold scores"
    count, score = _number(numbers, "n"), _number(numbers, "all")
    if count is not None and count != len(gold):
        return f"{task}/n is {count}, but {len(gold)} pairs are kept"
    found = spearman(cosine, gold)
    if score is None or found is None or abs(100 * found - score) <= REORDERED:
        return ""
    # Without a mark a file may be older than the mark, so its cosines may be tied by rounding.
    low, high = (found, found) if sides["cosine"].startswith(MARK) else _spearman_range(cosine, gold)
    if not 100 * low - REORDERED <= score <= 100 * high + REORDERED:
        return f"{task}/all is {score}, but its pairs have {100 * found:.2f}"
    return ""


def _spearman_range(cosine: "np.ndarray", gold: "np.ndarray") -> tuple[float, float]:
    """Bound Spearman's correlation of cosines that were unequal before they were rounded to 32 bits.

    Rounding ties neighbours but swaps none, so within a tie any order, and any smaller ties, are possible. The
    covariance of the ranks is largest if each tie is broken in the order of the gold scores, smallest in the reverse
    order. The variance of the ranks is smallest with all ties and largest without.
    """
    import numpy as np

    from replicse.evaluation.correlation import average_ranks, spearman

    shrunk = float(np.std(average_ranks(cosine)) / np.std(np.arange(len(cosine))))
    ends = []
    for by in (-gold, gold):
        order = np.lexsort((by, cosine)).argsort()
        unbroken = spearman(order, gold) or 0.0
        ends += [unbroken, unbroken / shrunk]
    return min(ends), max(ends)


def _outside(path: str, node: Mapping[str, Any]) -> Iterator[str]:
    """Yield a correlation far from the interval of its resamples, which need not be centred on it."""
    low, score, high = (_number(node, name) for name in ("low", "all", "high"))
    if low is not None and score is not None and high is not None:
        slack = max(1.0, high - low)
        if not low - slack <= score <= high + slack:
            yield f"{path}/all is {score}, but its own interval goes from {low} to {high}"
