"""The values of one cell: read from the evaluations in one place, for everything that speaks of a cell."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.compile.paths import Paths
from replicse.compile.study import Cell, Study
from replicse.files import read_json
from replicse.judge.evaluation import check_data, checked_record, read_evaluation
from replicse.judge.statistics import mean_and_spread, paired
from replicse.registry.artefacts import PROVENANCE
from replicse.registry.suites import file_of
from replicse.spec.columns import Derived, Reducer
from replicse.spec.expression import Expression

Value = float | str | None


@dataclass(frozen=True)
class Values:
    """What one cell gave: a value per seed, None where it is missing, and why it failed where it did.

    `seedless` says that the values are no draws of a training seed: the encoder was not trained here.
    """

    per_seed: tuple[Value, ...] = ()
    failure: str = ""
    seedless: bool = False


class Evaluations:
    """The evaluation JSONs of a study, each read once and held to the encoder that the plan has in its place.

    `paths` are those of a committed study, where they are not the plan's own.
    """

    def __init__(self, plan: Study, paths: Paths | None = None) -> None:
        self.plan, self.paths = plan, paths or plan.paths
        self._read: dict[str, dict[str, Any] | None] = {}
        self._trained: dict[str, Mapping[str, Any]] = {}

    def value(self, encoder: str, metric_path: str) -> tuple[Any, str]:
        """Return what is at a metric path and, where it is undefined, the reason; (None, "") if not run."""
        evaluation = self.read(self.paths.evaluation(encoder, file_of(metric_path)))
        if evaluation is None:
            return None, ""
        node: Any = evaluation["suites"]
        for key in metric_path.split("/"):
            node = node.get(key) if isinstance(node, Mapping) else None
        return node, evaluation.get("failures", {}).get(metric_path, "")

    def suite(self, encoder: str, name: str) -> Mapping[str, Any] | None:
        """Return everything that one suite gave; None where it was not run."""
        evaluation = self.read(self.paths.evaluation(encoder, file_of(name)))
        return evaluation["suites"].get(name) if evaluation else None

    def provenance(self, encoder: str, metric_path: str) -> Mapping[str, Any]:
        """Return what the file of a metric path was made with; nothing where it is absent or does not say it."""
        evaluation = self.read(self.paths.evaluation(encoder, file_of(metric_path))) or {}
        return evaluation.get("provenance", {})

    def training_record(self, run: str) -> Mapping[str, Any]:
        """Return what a run was trained with; nothing where its record is absent."""
        if run not in self._trained:
            path = self.paths.run(run, PROVENANCE)
            record = read_json(path) if Path(path).exists() else {}
            self._trained[run] = checked_record(
                record, path, "delete the folders of the run and of its encoders, and run the study again"
            )
        return self._trained[run]

    def read(self, path: str) -> dict[str, Any] | None:
        """Return an evaluation file's content, None where it is absent.

        BadInput names a broken one, and what contradicts its place, its own parts, or where a metric lies.
        """
        if path not in self._read:
            place = self.plan.evaluated(Path(path).parent.name, Path(path).stem)
            self._read[path] = read_evaluation(path, place) if Path(path).exists() else None
            sets = self.plan.scale.options.get("sets", {}).get("sets", {})
            check_data(path, self._read[path] or {"suites": {}}, sets)
        return self._read[path]


def values(plan: Study, cell: Cell, evaluations: Evaluations) -> Values:
    """Return the values of a cell, one per seed of its encoders, in their order."""
    if cell.operands and isinstance(cell.column, Derived):
        return _derived(plan, cell, cell.column.parsed, evaluations)
    if not cell.jobs:
        return Values()
    groups = [[evaluations.value(encoder, cell.metric_path) for encoder in group] for group in cell.jobs]
    failures = [reason for group in groups for _, reason in group if reason]
    each: list[Value] = []
    for group, encoders in zip(groups, cell.jobs, strict=True):
        if cell.column.kind == "text":
            each.append(None if group[0][0] is None else str(group[0][0]))
            continue
        numbers = [
            _number(value, encoder, cell.metric_path, failures)
            for (value, _), encoder in zip(group, encoders, strict=True)
        ]
        each.append(_over_jobs(plan, cell, numbers, encoders))
    if cell.column.kind == "difference":
        printed = cell.subtracted.number if cell.subtracted else None
        each = [value - printed.value if printed and isinstance(value, float) else None for value in each]
    return Values(tuple(each), "; ".join(dict.fromkeys(failures)), cell.seeds == (None,))


def _number(value: object, encoder: str, path: str, failures: list[str]) -> float | None:
    """Return a number of an evaluation; what is none is noted among the failures."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        failures.append(f'{path} of {encoder} is "{value}"; expected a number')
        return None
    return float(value)


def _over_jobs(
    plan: Study, cell: Cell, numbers: Sequence[float | None], encoders: Sequence[str]
) -> float | None:
    over = cell.column.over.jobs
    if None in numbers:
        return None
    if over is None:
        (only,) = numbers
        return only
    if over.statistic != "argmax":
        return reduced(numbers, over)
    extreme = min if cell.column.better == "lower" else max
    best = extreme(range(len(numbers)), key=lambda place: numbers[place])
    return float(plan.hyperparameter(encoders[best], over.shows))


def _derived(plan: Study, cell: Cell, formula: Expression, evaluations: Evaluations) -> Values:
    each_part = (values(plan, operand, evaluations) for operand in cell.operands)
    parts = dict(zip(formula.names, each_part, strict=True))
    failure = "; ".join(dict.fromkeys(part.failure for part in parts.values() if part.failure))
    columns = paired([part.per_seed[: len(cell.seeds)] for part in parts.values()], str(cell.item.file))
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
        return float(np.percentile(numbers, reducer.q))
    reducers: dict[str, Callable[[np.ndarray], Any]] = {"max": np.max, "min": np.min, "median": np.median}
    return float(reducers[reducer.statistic](np.asarray(numbers)))


def finite(values: Sequence[Value]) -> list[float]:
    """Return the numbers that are there and finite."""
    return [value for value in values if isinstance(value, float) and math.isfinite(value)]
