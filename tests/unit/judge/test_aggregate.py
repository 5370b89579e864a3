"""One number per row: the interquartile mean over its tasks, against a slow reference."""

import math
import random
import statistics

import numpy as np
import pytest
from golden import example_report as example

from replicse.judge.aggregate import aggregate_interval, aggregates, interquartile_mean

TASKS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
PRINTED = dict(zip(TASKS, ("60.1", "70.2", "65.3", "75.4", "72.5", "71.6", "68.7"), strict=True))
COLUMNS = [
    *({"id": name, "label": name, "metric": "spearman", "task": True} for name in TASKS),
    {"id": "avg", "label": "Avg.", "metric": "spearman", "average": True},
]


def made_up_scores(seed=0, seeds=3):
    """Return a number per seed by task."""
    draw = random.Random(seed)
    runs = [[round(70 + draw.gauss(0, 4), 2) for _ in TASKS] for _ in range(seeds)]
    return {task: [run[place] for run in runs] for place, task in enumerate(TASKS)}


def sts(scores, printed=PRINTED, columns=COLUMNS, rows=(("r", "R"),)):
    """Return an item whose rows have these scores in every column of a task."""
    cells = [
        example.judged(row["id"] if isinstance(row, dict) else row[0], task, printed.get(task), values)
        for row in rows
        for task, values in scores.items()
    ]
    return example.result("simcse/table5", "t", columns, rows, cells)


def slow_interquartile_mean(values):
    """Sort, leave out a quarter of the numbers (rounded down) at each end, average what is left, term by term."""
    kept = sorted(values)
    for _ in range(len(values) // 4):
        kept.remove(min(kept))
        kept.remove(max(kept))
    return math.fsum(kept) / len(kept)


def test_a_row_against_the_slow_reference():
    scores = made_up_scores()
    (found,) = aggregates(sts(scores))
    assert (found.item, found.row, found.label, found.n_tasks, found.ours.n) == (
        "simcse/table5",
        "r",
        "R",
        7,
        3,
    )
    assert found.reported == pytest.approx(slow_interquartile_mean(list(map(float, PRINTED.values()))))
    assert found.ours.mean == pytest.approx(
        statistics.fmean(slow_interquartile_mean(run) for run in zip(*scores.values(), strict=True))
    )
    assert found.ours.low < found.ours.mean < found.ours.high


@pytest.mark.parametrize("seeds", [3, 5])
def test_the_interval_over_few_seeds_holds_the_truth_as_often_as_it_says(seeds):
    """Redrawing three seeds held it in 75% of studies."""
    drawn = np.random.default_rng(seeds)
    shared = drawn.normal(size=(2000, seeds, 1))
    scores = 70 + np.arange(7) + shared + 0.5 * drawn.normal(size=(2000, seeds, 7))
    truth = interquartile_mean(scores.reshape(-1, 7)).mean()
    found = [aggregate_interval(study) for study in scores]
    assert np.mean([each.low <= truth <= each.high for each in found]) == pytest.approx(0.95, abs=0.018)


def test_one_seed_has_a_value_and_no_width():
    (found,) = aggregates(sts(made_up_scores(seeds=1)))
    assert (found.ours.n, found.ours.low, found.ours.high) == (1, None, None)


@pytest.mark.parametrize("missing", [[70.0, None, 71.0], [None] * 3, [70.0]])
def test_a_missing_part_or_unequal_seeds_leave_no_aggregate(missing):
    assert list(aggregates(sts(made_up_scores() | {"STS14": missing}))) == []
    without = {task: values for task, values in made_up_scores().items() if task != "STS14"}
    assert list(aggregates(sts(without))) == []
