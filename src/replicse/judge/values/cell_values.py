"""The values of a cell, computed from measurements."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from replicse.compile.cell import Cell
from replicse.judge.statistics.intervals import mean_and_spread, pair_by_seed
from replicse.judge.values.measurements import Measurement, Measurements
from replicse.spec.columns import Better, Derived, Reducer
from replicse.spec.expression import Expression
from replicse.spec.printed import Rounded

Value = float | str | None


@dataclass(frozen=True)
class Values:
    """The values of one cell, a value per seed.

    By default, they depend on a training seed and are not rounded.

    Attributes:
        per_seed: a value for each seed, None if it is missing.
        failure: why runs failed; an empty string if no run failed.
        seedless: whether the values do not depend on a training seed, because the encoder was not trained here.
        pairs: the bounds of a correlation over resampled test pairs, averaged over the seeds.
        half_digit: half a unit of the last digit of the value with the fewest digits.
        jobs: for each seed, the number of each job of a search.
    """

    per_seed: tuple[Value, ...] = ()
    failure: str = ""
    seedless: bool = False
    pairs: tuple[float, float] | None = None
    half_digit: float = 0.0
    jobs: tuple[tuple[float | None, ...], ...] = ()


def cell_values(cell: Cell, measurements: Measurements, searched: Mapping[str, Mapping[str, Any]]) -> Values:
    """Compute the values of a cell, a value for each seed in their order.

    Args:
        cell: the cell.
        measurements: the measurements of its encoders.
        searched: hyper-parameters of searches, as a dict from path in the run to a dict from encoder to value.
    """
    if cell.operands and isinstance(cell.column, Derived):
        return _derived_values(cell, cell.column.parsed, measurements, searched)
    if not cell.jobs:
        return Values()
    groups = []
    for encoders in cell.jobs:
        groups.append([measurements.at(encoder, cell.metric_path) for encoder in encoders])
    measured = list(chain.from_iterable(groups))
    failures = [each.failure for each in measured if each.failure]
    per_seed: list[Value] = []
    jobs: list[tuple[float | None, ...]] = []
    for encoders, group in zip(cell.jobs, groups, strict=True):
        if cell.column.kind == "text":
            per_seed.append(_text(group[0]))
            continue
        numbers = tuple(_number(each, failures) for each in group)
        jobs.append(numbers)
        per_seed.append(_seed_value(cell, encoders, numbers, measurements, searched, failures))
    if cell.column.kind == "difference":
        printed = cell.subtracted.number if cell.subtracted else None
        per_seed = [_subtract(value, printed) for value in per_seed]
    if not (cell.column.over and cell.column.over.jobs):
        jobs = []
    return Values(
        per_seed=tuple(per_seed),
        failure="; ".join(dict.fromkeys(failures)),
        seedless=measurements.is_seedless(cell),
        pairs=_pair_bounds(cell, measured),
        half_digit=max(each.half_digit for each in measured),
        jobs=tuple(jobs),
    )


def _text(measured: Measurement) -> str | None:
    return None if measured.value is None else str(measured.value)


def _subtract(value: Value, printed: Rounded | None) -> float | None:
    """Subtract a printed number; None if one of the numbers is missing."""
    if printed is None or not isinstance(value, float):
        return None
    return value - printed.value


def _seed_value(
    cell: Cell,
    encoders: Sequence[str],
    numbers: Sequence[float | None],
    measurements: Measurements,
    searched: Mapping[str, Mapping[str, Any]],
    failures: list[str],
) -> float | None:
    """Reduce the numbers of the jobs of one seed to one value."""
    selecting = cell.item.selecting_column(cell.column)
    if not selecting:
        return _reduce_jobs(cell, numbers, encoders, searched)
    path = cell.item.path(cell.row, selecting)
    scores = [_number(measurements.at(encoder, path), failures) for encoder in encoders]
    return _number_of_best(numbers, scores, selecting.better)


def _pair_bounds(cell: Cell, measured: Sequence[Measurement]) -> tuple[float, float] | None:
    """Average the bounds over test pairs.

    Returns None unless each value is a correlation over all pairs of a task.
    """
    column = cell.column
    if column.kind != "score" or column.over.jobs or column.over.seeds.statistic != "mean":
        return None
    bounds = [each.bounds for each in measured if each.bounds]
    if len(bounds) < len(measured):
        return None
    low, high = zip(*bounds, strict=True)
    return mean_and_spread(low)[0], mean_and_spread(high)[0]


def _number(measured: Measurement, failures: list[str]) -> float | None:
    """Return the value as a float; append to `failures` if it is not a number."""
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
    """Return the number of the job with the best score.

    If several jobs have the best score, the first is used. Returns None if a score is missing.
    """
    complete = [score for score in scores if score is not None]
    if len(complete) < len(scores):
        return None
    return numbers[_index_of_best(complete, better)]


def _index_of_best(scores: Sequence[float], better: Better) -> int:
    extreme = min if better == "lower" else max
    return extreme(range(len(scores)), key=scores.__getitem__)


def _reduce_jobs(
    cell: Cell,
    numbers: Sequence[float | None],
    encoders: Sequence[str],
    searched: Mapping[str, Mapping[str, Any]],
) -> float | None:
    """Compute the statistic over jobs that the column shows.

    Returns None if a number is missing.
    """
    over = cell.column.over.jobs if cell.column.over else None
    complete = [number for number in numbers if number is not None]
    if len(complete) < len(numbers):
        return None
    if over is None:
        (only,) = complete
        return only
    if over.statistic != "argmax":
        return reduce_values(complete, over)
    best = _index_of_best(complete, cell.column.better)
    return float(searched[over.shows or ""][encoders[best]])


def _derived_values(
    cell: Cell, formula: Expression, measurements: Measurements, searched: Mapping[str, Mapping[str, Any]]
) -> Values:
    """Compute a formula of other cells for each seed."""
    by_operand = []
    failures: dict[str, None] = {}  # an ordered set
    is_seedless = True
    for operand in cell.operands:
        values = cell_values(operand, measurements, searched)
        by_operand.append(values.per_seed[: len(cell.seeds)])
        is_seedless = is_seedless and values.seedless
        if values.failure:
            failures[values.failure] = None
    failure = "; ".join(failures)
    per_seed: list[Value] = []
    for numbers in zip(*pair_by_seed(by_operand, cell.item.id), strict=True):
        if None in numbers:
            per_seed.append(None)
            continue
        try:
            per_seed.append(formula(dict(zip(formula.names, numbers, strict=True))))
        except ZeroDivisionError:
            failure = failure or f"the formula of {cell.column.id} divides by zero"
            per_seed.append(None)
    return Values(tuple(per_seed), failure, is_seedless)


def reduce_values(numbers: Sequence[float], reducer: Reducer) -> float | None:
    """Compute a statistic of some numbers.

    Args:
        numbers: list of at least one number.
        reducer: the statistic, such as mean, sd, max or a percentile.

    Returns:
        The statistic; None for the standard deviation of a single number.
    """
    if reducer.statistic == "mean":
        return mean_and_spread(numbers)[0]
    if reducer.statistic == "sd":
        return mean_and_spread(numbers)[1]
    import numpy as np

    if reducer.statistic == "percentile":
        return float(np.percentile(numbers, reducer.q or 0.0))
    reducers: dict[str, Callable[[np.ndarray], Any]] = {"max": np.max, "min": np.min, "median": np.median}
    return float(reducers[reducer.statistic](np.asarray(numbers)))


def finite_numbers(values: Sequence[Value]) -> list[float]:
    """Return the finite numbers; missing values and strings are skipped."""
    return [value for value in values if isinstance(value, float) and math.isfinite(value)]
