"""One number for a row of many tasks: the interquartile mean, with an interval over seeds.

After Agarwal et al. 2021 (rliable): a mean follows its outliers, a median forgets half of the tasks; the
interquartile mean does neither. One run is measured on all tasks, so each seed gives one number.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from replicse.judge.judgements import Paired
from replicse.judge.report import RowAggregate
from replicse.judge.shape import seed_values
from replicse.judge.statistics import interval_of_mean
from replicse.judge.table import CellResult, ColumnHead, ItemResult

if TYPE_CHECKING:
    import numpy as np

FEWEST_TASKS = 4  # a quarter is cut at each end


def aggregates(item: ItemResult) -> Iterator[RowAggregate]:
    """Yield the aggregate of every row of an item that prints an average over tasks."""
    tasks = task_columns(item)
    if len(tasks) < FEWEST_TASKS:
        return
    described, names = item.described, item.row_names
    for row in item.rows:
        cells = [described.get(item.id_at(row.id, column)) for column in tasks]
        scores = _scores(
            [seed_values(cell, column) if cell else [] for cell, column in zip(cells, tasks, strict=True)]
        )
        if scores is not None:
            yield RowAggregate(
                item=item.item,
                row=row.id,
                label=names[row.id],
                n_tasks=len(tasks),
                reported=_printed(cells),
                ours=aggregate_interval(scores),
            )


def task_columns(item: ItemResult) -> list[ColumnHead]:
    """Return the columns that an average of the same suite is taken over; none where there is no average."""
    return [column for column in item.columns if column.task and column.is_score]


def _printed(cells: Sequence[CellResult | None]) -> float | None:
    numbers = [cell.printed if cell else None for cell in cells]
    known = [number for number in numbers if number is not None]
    return float(interquartile_mean(known)) if len(known) == len(numbers) else None


def _scores(table: Sequence[Sequence[float | None]]) -> "np.ndarray | None":
    """Return (seeds, tasks) scores from the values of each task; None while one is missing."""
    import numpy as np

    sizes = {len(values) for values in table}
    if sizes == {0} or len(sizes) != 1 or any(value is None for values in table for value in values):
        return None
    return np.array(table, dtype=np.float64).T


def interquartile_mean(scores: "np.typing.ArrayLike") -> "np.ndarray":
    """Return the mean of the middle half along the last axis: a quarter, rounded down, is cut per end."""
    import numpy as np

    count = np.shape(scores)[-1]
    cut = count // 4
    return np.sort(scores, axis=-1)[..., cut : count - cut].mean(axis=-1)


def aggregate_interval(scores: "np.typing.ArrayLike") -> Paired:
    """Return the interquartile mean over tasks in each seed, and their mean with Student's 95% t interval.

    Scores are (seeds, tasks): one run is measured on every task, so a seed gives one number.
    """
    return interval_of_mean(tuple(interquartile_mean(scores).tolist()))
