"""Comparison of two results of other tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from replicse.errors import BadInput
from replicse.judge.values.result_files import ROUNDING, ExternalResults, main_scores, other_aggregation
from replicse.judge.values.result_scores import AVERAGED, SAME

Standing = Literal["equal", "within numerics", "beyond numerics", "another dataset"]
NUMERICS = 0.1  # points by which half precision or another batch size may change a correlation


@dataclass(frozen=True)
class ComparedScore:
    """A score that is in both results.

    By default, a score has no interval: only those with stored sentence pairs have it.

    Attributes:
        a, b: the scores x 100.
        difference: b minus a; None if the scores are of different datasets.
        standing: the result of the comparison.
        low, high: the 95% interval of the difference, by a paired bootstrap over sentence pairs; None if the pairs
            are not stored in both results.
    """

    a: float
    b: float
    difference: float | None
    standing: Standing
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Pair:
    """The entries of both results for the same key."""

    a: str
    b: str


@dataclass(frozen=True)
class Differences:
    """Two results and their differences.

    Attributes:
        a, b: the files or folders.
        scores: scores that are in both results.
        data: facts about the datasets that differ, by the name of the score.
        inputs: digests and prompts that differ.
        settings: settings that are in both results and differ.
        only_a, only_b: names of scores that are in only one of the results.
        remarks_a, remarks_b: remarks on the files.
    """

    a: str
    b: str
    scores: Mapping[str, ComparedScore]
    data: Mapping[str, Mapping[str, Pair]]
    inputs: Mapping[str, Pair]
    settings: Mapping[str, Pair]
    only_a: Sequence[str]
    only_b: Sequence[str]
    remarks_a: Sequence[str]
    remarks_b: Sequence[str]


def compare_results(a: ExternalResults, b: ExternalResults) -> Differences:
    """Compare two results.

    If both results contain several aggregations of a task, the first is compared. Scores on other rows, files or
    revisions of a dataset have no difference.

    Args:
        a: the first results.
        b: the second results.

    Raises:
        BadInput: if no score is in both results.
    """
    both: dict[str, tuple[float, float]] = {}
    for name, value in a.scores.items():
        other_value = b.score(name)
        if other_value is not None:
            both[name] = (value, other_value)
    if not both:
        raise BadInput(
            f"A and B do not share a score; A contains {a.scores_listed()}; B contains {b.scores_listed()}"
        )
    names = [name for name in both if other_aggregation(name) not in both]
    data = {}
    for name in names:
        differing = _differing(a.data_of(name), b.data_of(name))
        if differing:
            data[name] = differing
    of_other_data = {name for name in names if name in data or not data.keys().isdisjoint(_parts(name))}
    scores = {name: _compare(*both[name], name in of_other_data) for name in names}
    for name in names:
        if name in a.pairs and name in b.pairs and name not in of_other_data:
            scores[name] = _with_interval(scores[name], a.pairs[name], b.pairs[name])
    only_a = [name for name in main_scores(a) if name not in both]
    only_b = [name for name in main_scores(b) if a.score(name) is None]
    return Differences(
        a=str(a.place),
        b=str(b.place),
        scores=scores,
        data=data,
        inputs=_differing(a.inputs, b.inputs),
        settings=_differing(a.settings, b.settings),
        only_a=only_a,
        only_b=only_b,
        remarks_a=a.remark_lines(),
        remarks_b=b.remark_lines(),
    )


def _parts(name: str) -> set[str]:
    """Return the parts of an average, by both names of each part.

    Returns an empty set for another score.
    """
    parts = set(AVERAGED.get(name, ()))
    return parts | {SAME[part] for part in parts if part in SAME}


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, Pair]:
    """Return the entries that are in both dicts and differ."""
    return {name: Pair(a[name], b[name]) for name in a if name in b and a[name] != b[name]}


def _compare(a: float, b: float, is_other_data: bool) -> ComparedScore:
    if is_other_data:
        return ComparedScore(a, b, None, "another dataset")
    size = abs(b - a)
    if size <= ROUNDING:
        return ComparedScore(a, b, b - a, "equal")
    if size <= NUMERICS:
        return ComparedScore(a, b, b - a, "within numerics")
    return ComparedScore(a, b, b - a, "beyond numerics")


def _with_interval(score: ComparedScore, a: Mapping[str, str], b: Mapping[str, str]) -> ComparedScore:
    """Add the interval of a difference if both gold scores are equal."""
    import numpy as np

    from replicse.evaluation.bootstrap import spearman_difference
    from replicse.judge.values.pairs import unpack_side

    gold = unpack_side(a["gold"])
    if not np.array_equal(gold, unpack_side(b["gold"])):
        return score
    interval = spearman_difference(unpack_side(a["cosine"]), unpack_side(b["cosine"]), gold)
    return replace(score, low=100 * interval.low, high=100 * interval.high) if interval else score
