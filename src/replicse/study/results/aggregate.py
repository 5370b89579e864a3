"""One number for a row of many tasks: the interquartile mean, with an interval over seeds.

After Agarwal et al. 2021 (rliable): a mean follows its outliers, a median forgets half of the tasks; the
interquartile mean does neither. One run is measured on all tasks, so whole runs are redrawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replicse.study.results.shape import is_average
from replicse.study.results.statistics import Estimate, aggregate_interval, interquartile_mean
from replicse.study.results.tabulate import Evaluations, described_cell
from replicse.study.results.verdict import printed_number

FEWEST_TASKS = 4  # a quarter is cut at each end


@dataclass(frozen=True)
class RowAggregate:
    """The interquartile means of one row over its tasks, in print (None where a number is missing) and ours.

    `ours` is an interval where there are two seeds, else a value whose bounds are itself.
    """

    item: str
    row: str
    label: str
    n_tasks: int
    n_seeds: int
    reported: float | None
    ours: Estimate


def aggregates(manifest: Mapping[str, Any], evaluations: Evaluations) -> Iterator[RowAggregate]:
    """Yield the aggregate of every row of an item that prints an average over tasks."""
    tasks = task_columns(manifest["columns"])
    if len(tasks) < FEWEST_TASKS:
        return
    labels = [row["label"] for row in manifest["rows"]]
    for row in manifest["rows"]:
        cells = [described_cell(manifest, row, column, evaluations) for column in tasks]
        scores = _scores([values for _, values in cells])
        if scores is None:
            continue
        reported = [printed_number(text) for text, _ in cells]
        known = None not in reported
        yield RowAggregate(
            item=manifest["item"],
            row=row["id"],
            label=row["label"] if labels.count(row["label"]) == 1 else f"{row['label']} ({row['group']})",
            n_tasks=len(tasks),
            n_seeds=len(scores),
            reported=float(interquartile_mean(np.array([each.value for each in reported])))
            if known
            else None,
            ours=aggregate_interval(scores, joint=True),
        )


def task_columns(columns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the columns that an average of the same suite is taken over; none where no average stands."""
    suites = {column["read"].partition("/")[0] for column in columns if is_average(column)}
    return [
        column
        for column in columns
        if column["read"].partition("/")[0] in suites and not is_average(column) and not column["minus"]
    ]


def _scores(table: Sequence[Sequence[Any]]) -> np.ndarray | None:
    """Return (seeds, tasks) scores from the values of each task; None while one is missing."""
    sizes = {len(values) for values in table}
    if sizes == {0} or len(sizes) != 1 or any(value is None for values in table for value in values):
        return None
    return np.array(table, dtype=np.float64).T
