"""The values of one cell: taken from the measurements in one place, for everything that speaks of a cell."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replicse.compile.study import Cell
from replicse.judge.measurements import Measurement, Measurements
from replicse.judge.statistics import mean_and_spread, paired
from replicse.spec.columns import Better, Derived, Reducer
from replicse.spec.expression import Expression

Value = float | str | None


@dataclass(frozen=True)
class Values:
    """What one cell gave: a value per seed, None where it is missing, and why it failed where it did.

    `seedless` says that the values are no draws of a training seed: the encoder was not trained here. `pairs` bound a
    correlation over resampled test pairs, averaged over the seeds; `half_digit` is the coarsest rounding of the values.
    `jobs` holds, for each seed of a search, the number of each job.
    """

    per_seed: tuple[Value, ...] = ()
    failure: str = ""
    seedless: bool = False
    pairs: tuple[float, float] | None = None
    half_digit: float = 0.0
    jobs: tuple[tuple[float | None, ...], ...] = ()


def values(cell: Cell, measurements: Measurements, searched: Mapping[str, Mapping[str, Any]]) -> Values:
    """Return the values of a cell, one per seed of its encoders, in their order.

    Args:
        cell: the cell.
        measurements: the measurements of its encoders.
        searched: the hyper-parameters of searches by their path in a run and by encoder.
    """
    if cell.operands and isinstance(cell.column, Derived):
        return _derived(cell, cell.column.parsed, measurements, searched)
    if not cell.jobs:
        return Values()
    groups = [[measurements.at(encoder, cell.metric_path) for encoder in group] for group in cell.jobs]
    failures = [each.failure for group in groups for each in group if each.failure]
    each: list[Value] = []
    jobs: list[tuple[float | None, ...]] = []
    selecting = cell.item.selecting_column(cell.column)
    for group in groups:
        if cell.column.kind == "text":
            each.append(None if group[0].value is None else str(group[0].value))
            continue
        numbers = [_number(measured, failures) for measured in group]
        jobs.append(tuple(numbers))
        encoders = [measured.encoder for measured in group]
        if selecting:
            path = cell.item.path(cell.row, selecting)
            scores = [_number(measurements.at(encoder, path), failures) for encoder in encoders]
            each.append(_number_of_best(numbers, scores, selecting.better))
        else:
            each.append(_over_jobs(cell, numbers, encoders, searched))
    if cell.column.kind == "difference":
        printed = cell.subtracted.number if cell.subtracted else None
        each = [value - printed.value if printed and isinstance(value, float) else None for value in each]
    failure = "; ".join(dict.fromkeys(failures))
    half_digit = max(measured.half_digit for group in groups for measured in group)
    seedless = measurements.is_seedless(cell)
    of_search = tuple(jobs) if cell.column.over and cell.column.over.jobs else ()
    return Values(tuple(each), failure, seedless, _over_pairs(cell, groups), half_digit, of_search)


def _over_pairs(cell: Cell, groups: Sequence[Sequence[Measurement]]) -> tuple[float, float] | None:
    """Return the bounds over test pairs; None where the number is no correlation over all pairs of a task."""
    column = cell.column
    if column.kind != "score" or column.over.jobs or column.over.seeds.statistic != "mean":
        return None
    measured = [each for group in groups for each in group]
    bounds = [each.bounds for each in measured if each.bounds]
    if len(bounds) < len(measured):
        return None
    low, high = (mean_and_spread(each)[0] for each in zip(*bounds, strict=True))
    return low, high


def _number(measured: Measurement, failures: list[str]) -> float | None:
    """Return a measured number; what is none is noted among the failures."""
    value = measured.value
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        failures.append(f'{measured.metric_path} of {measured.encoder} is "{value}"; expected a number')
        return None
    return float(value)


def _number_of_best(
    numbers: Sequence[float | None], scores: Sequence[float | None], better: Better
) -> float | None:
    """Return the number of the job with the best score, the first of several; None if a score is missing."""
    there = [score for score in scores if score is not None]
    if len(there) < len(scores):
        return None
    return numbers[_place_of_best(there, better)]


def _place_of_best(scores: Sequence[float], better: Better) -> int:
    extreme = min if better == "lower" else max
    return extreme(range(len(scores)), key=scores.__getitem__)


def _over_jobs(
    cell: Cell,
    numbers: Sequence[float | None],
    encoders: Sequence[str],
    searched: Mapping[str, Mapping[str, Any]],
) -> float | None:
    over = cell.column.over.jobs if cell.column.over else None
    there = [number for number in numbers if number is not None]
    if len(there) < len(numbers):
        return None
    if over is None:
        (only,) = there
        return only
    if over.statistic != "argmax":
        return reduced(there, over)
    best = _place_of_best(there, cell.column.better)
    return float(searched[over.shows or ""][encoders[best]])


def _derived(
    cell: Cell, formula: Expression, measurements: Measurements, searched: Mapping[str, Mapping[str, Any]]
) -> Values:
    each_part = (values(operand, measurements, searched) for operand in cell.operands)
    parts = dict(zip(formula.names, each_part, strict=True))
    failure = "; ".join(dict.fromkeys(part.failure for part in parts.values() if part.failure))
    columns = paired([part.per_seed[: len(cell.seeds)] for part in parts.values()], cell.item.id)
    each: list[Value] = []
    for numbers in zip(*columns, strict=True):
        try:
            each.append(None if None in numbers else formula(dict(zip(parts, numbers, strict=True))))
        except ZeroDivisionError:
            failure = failure or f"the formula of {cell.column.id} divides by zero"
            each.append(None)
    return Values(tuple(each), failure, all(part.seedless for part in parts.values()))


def reduced(numbers: Sequence[float], reducer: Reducer) -> float | None:
    """Return the statistic of some numbers; None for the standard deviation of a single one."""
    if reducer.statistic in ("mean", "sd"):
        return mean_and_spread(numbers)[reducer.statistic == "sd"]
    import numpy as np

    if reducer.statistic == "percentile":
        return float(np.percentile(numbers, reducer.q or 0.0))
    reducers: dict[str, Callable[[np.ndarray], Any]] = {"max": np.max, "min": np.min, "median": np.median}
    return float(reducers[reducer.statistic](np.asarray(numbers)))


def finite(values: Sequence[Value]) -> list[float]:
    """Return the numbers that are there and finite."""
    return [value for value in values if isinstance(value, float) and math.isfinite(value)]
