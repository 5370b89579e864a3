"""Evaluation files: loading, and checks of encoder, numbers and pairs."""

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

# Optional parts of an evaluation: dicts by metric path or by name.
PARTS = ("failures", "pairs", "provenance")
REMEDY = "delete it and evaluate again"
ROUNDING = 0.0101  # averages are computed from parts with two decimals
REORDERED = 0.05  # points; older files contain 32-bit cosines, which can change a correlation this much


def read_evaluation(
    path: str,
    place: Mapping[str, Any],
    tables: Mapping[str, tuple[str, str]],
    metric_paths: Iterable[str],
    partly: bool,
) -> dict[str, Any]:
    """Load an evaluation file and check the content.

    Args:
        path: the file.
        place: the entries that describe the encoder of its folder, and which the file must contain.
        tables: dict from the name of each set of the user to the file and sha256 of its table.
        metric_paths: the metric paths that are used.
        partly: whether some suites may be missing because they are not evaluated yet.

    Returns:
        The content of the file.

    Raises:
        BadInput: if the file is not an evaluation, or if a check fails.
    """
    evaluation: dict[str, Any] = read_json(path)
    check_evaluation(evaluation, path, place, metric_paths, partly)
    check_pairs(evaluation, path)
    check_set_tables(evaluation, path, tables)
    return evaluation


def check_evaluation(
    evaluation: Any, path: str, place: Mapping[str, Any], metric_paths: Iterable[str], partly: bool
) -> None:
    """Check format, encoder, ranges and averages of an evaluation.

    See `read_evaluation` for the other arguments.

    Args:
        evaluation: the content of the file.

    Raises:
        BadInput: if an entry is malformed, missing, out of range, or contradicts the encoder or other numbers.
    """
    problem = _shape_problem(evaluation)
    if not problem:
        missing = _missing_paths(evaluation, metric_paths, partly)
        problem = next(chain(_problems(evaluation, place), missing), "")
    if problem:
        raise BadInput(f"{path}: {problem}; {_remedy(problem)}")
    checked_record(evaluation.get("provenance", {}), path, REMEDY)


def check_pairs(evaluation: Mapping[str, Any], path: str) -> None:
    """Compare the correlations of an evaluation with its pairs.

    This decodes and ranks every pair, which takes as long as all other checks of a file together.

    Args:
        evaluation: the content of the file.
        path: the file, for error messages.

    Raises:
        BadInput: names the task and the correlation of its pairs.
    """
    for task, sides in evaluation.get("pairs", {}).items():
        problem = _pairs_problem(task, sides, part_at(evaluation["suites"], task))
        if problem:
            raise BadInput(f"{path}: {problem}; {REMEDY}")


def check_set_tables(evaluation: Mapping[str, Any], path: str, tables: Mapping[str, tuple[str, str]]) -> None:
    """Check that datasets were evaluated on the present tables.

    Args:
        evaluation: the content of the file.
        path: the file, for error messages.
        tables: dict from the name of each set to the file and sha256 of its table.

    Raises:
        BadInput: names a set if its table has another sha256.
    """
    for name, numbers in evaluation["suites"].get("sets", {}).items():
        file, sha256 = tables.get(name, ("", ""))
        if file and numbers.get("sha256") != sha256:
            raise BadInput(f"{path}: {name} was evaluated on another version of {file}; {REMEDY}")


def checked_record(record: object, path: str, remedy: str) -> Mapping[str, Any]:
    """Return the provenance record of an evaluation or a run.

    Args:
        record: the record.
        path: its file, for error messages.
        remedy: the end of an error message.

    Raises:
        BadInput: if the record is malformed.
    """
    if isinstance(record, Mapping):
        before = record.get("resumed_from", [])
        if isinstance(before, list) and all(isinstance(each, Mapping) for each in before):
            return record
    raise BadInput(f"{path} does not contain a provenance record; {remedy}")


def _remedy(problem: str) -> str:
    """Return the remedy of a problem.

    If the suite belongs to a plug-in, evaluating it again would give the same numbers.
    """
    places = plugin_places()
    for suite in current().suites:
        place = places.get(suite_code(suite))
        if place and re.search(rf"\b{re.escape(suite)}\b", problem):
            return f"fix suite {suite} in {place}"
    return REMEDY


def _shape_problem(document: Any) -> str:
    """Return why a document is not an evaluation.

    Returns an empty string for an evaluation.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("suites"), Mapping):
        return "does not contain suites"
    for part in PARTS:
        if not isinstance(document.get(part, {}), Mapping):
            return f"{part} is {excerpt(document[part])}; expected a dict"
    return ""


def _problems(evaluation: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[str]:
    """Yield wrong encoders, malformed entries, and wrong numbers."""
    for key, expected in place.items():
        if key not in evaluation:
            yield f"{key} is missing, but the encoder of this folder has {excerpt(expected)}"
        elif not _matches(evaluation[key], expected):
            yield f"{key} is {excerpt(evaluation[key])}, but the encoder of this folder has {excerpt(expected)}"
    for path, reason in evaluation.get("failures", {}).items():
        if not isinstance(reason, str):
            yield f"the failure of {path} is {excerpt(reason)}; expected a string"
    for suite, numbers in evaluation["suites"].items():
        if not isinstance(numbers, Mapping):
            yield f"suite {suite} is {excerpt(numbers)}; expected a dict"
        yield from _range_problems(suite, numbers)
        yield from _average_problems(suite, numbers)


def _matches(entry: object, expected: object) -> bool:
    """Return whether an entry equals the expected entry.

    A dict may contain more keys than expected, such as the rows of a corpus.
    """
    if isinstance(expected, Mapping) and isinstance(entry, Mapping):
        return all(key in entry and _matches(entry[key], value) for key, value in expected.items())
    return entry == expected


def _missing_paths(evaluation: Mapping[str, Any], metric_paths: Iterable[str], partly: bool) -> Iterator[str]:
    """Yield an error for each metric path without a number, null or failure."""
    suites, failures = evaluation["suites"], evaluation.get("failures", {})
    for path in metric_paths:
        above, _, last = path.rpartition("/")
        is_pending = partly and path.partition("/")[0] not in suites
        if not is_pending and path not in failures and last not in (part_at(suites, above) or ()):
            yield f"does not contain {path}"


def part_at(node: Any, path: str) -> Any:
    """Return the value at a path of keys in nested dicts.

    Args:
        node: the nested dicts.
        path: keys joined by "/".

    Returns:
        The value; None if it does not exist.
    """
    for key in path.split("/"):
        if not isinstance(node, Mapping):
            return None
        node = node.get(key)
    return node


def _number(node: Any, path: str) -> float | None:
    """Return the finite number at a path; None if it does not exist."""
    value = part_at(node, path)
    return value if ANY.holds(value) else None


def _range_problems(path: str, node: Any) -> Iterator[str]:
    """Yield an error for each value out of range or in the wrong order."""
    limits = range_of(path)
    if limits is not None and node is not None:
        if not limits.holds(node):
            yield f"{path} is {excerpt(node)}; expected {limits}"
    elif isinstance(node, Mapping):
        for key, inner in node.items():
            yield from _range_problems(f"{path}/{key}", inner)
        yield from _order_problems(path, node)
        yield from _interval_problems(path, node)
    elif isinstance(node, list) and not all(map(ANY.holds, node)):
        yield f"{path} is {excerpt(node)}; expected finite numbers"


def _order_problems(path: str, node: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error for each number that is larger than it can be."""
    suite = current().suites.get(path.partition("/")[0])
    rising = suite.rising if suite else ()
    keys = [key for key in rising if _number(node, key) is not None]
    for low, high in pairwise(keys):
        if node[low] > node[high] + 1e-6:
            yield f"{path}/{low} is {node[low]}, above {high}, which is {node[high]}"


def _average_problems(suite: str, numbers: Any) -> Iterator[str]:
    """Yield an error for each average that is not the mean of the parts.

    Averages with a missing part are skipped.
    """
    entry = current().suites.get(suite)
    averages = entry.averages if entry else {}
    for name, paths in averages.items():
        value = _number(numbers, name)
        parts = []
        for path in paths:
            part = _number(numbers, path)
            if part is not None:
                parts.append(part)
        if value is None or len(parts) < len(paths):
            continue
        mean = math.fsum(parts) / len(parts)
        if abs(value - mean) > ROUNDING:
            yield f"{suite}/{name} is {value}, but the parts have the mean {mean:.2f}"


def _pairs_problem(task: str, sides: Any, numbers: Any) -> str:
    """Return why the pairs of a task are malformed or contradict scores.

    Returns an empty string for correct pairs.
    """
    from replicse.evaluation.correlation import spearman
    from replicse.judge.values.pairs import MARK, unpack_side

    try:
        cosine, gold = unpack_side(sides["cosine"]), unpack_side(sides["gold"])
    except (KeyError, TypeError, ValueError):
        return f"the pairs of {task} are {excerpt(sides)}; expected cosines and gold scores"
    if len(cosine) != len(gold):
        return f"{task} has {len(cosine)} cosines for {len(gold)} gold scores"
    count, score = _number(numbers, "n"), _number(numbers, "all")
    if count is not None and count != len(gold):
        return f"{task}/n is {count}, but the file contains {len(gold)} pairs"
    found = spearman(cosine, gold)
    if score is None or found is None or abs(100 * found - score) <= REORDERED:
        return ""
    low = high = found
    # A file without the mark may be an older file, where rounding made some cosines equal.
    if not sides["cosine"].startswith(MARK):
        low, high = _spearman_range(cosine, gold)
    if not 100 * low - REORDERED <= score <= 100 * high + REORDERED:
        return f"{task}/all is {score}, but the correlation of the pairs is {100 * found:.2f}"
    return ""


def _spearman_range(cosine: "np.ndarray", gold: "np.ndarray") -> tuple[float, float]:
    """Compute bounds of Spearman's correlation for 32-bit cosines.

    Rounding makes neighbours equal but does not swap them, so any order is possible within a tie. The covariance of the
    ranks is largest if each tie is broken in the order of the gold scores, and smallest in the reverse order. The
    variance of the ranks is smallest with all ties and largest without ties.
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


def _interval_problems(path: str, node: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error for a correlation far from the resampled interval.

    The correlation need not be in the middle of the interval.
    """
    low, score, high = _number(node, "low"), _number(node, "all"), _number(node, "high")
    if low is not None and score is not None and high is not None:
        slack = max(1.0, high - low)
        if not low - slack <= score <= high + slack:
            yield f"{path}/all is {score}, but the interval is {low} to {high}"
