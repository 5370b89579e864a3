"""One number per row: the interquartile mean over its tasks, against a slow reference."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicse.study.results.aggregate import aggregates, task_columns

TASKS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
PRINTED = ("60.1", "70.2", "65.3", "75.4", "72.5", "71.6", "68.7")


def column(name, read, minus=False):
    return {"id": name, "label": name, "metric": "spearman", "read": read, "minus": minus, "choose": ""}


def sts_columns(tasks=TASKS):
    return [*(column(task, f"sts/{task}/all") for task in tasks), column("avg", "sts/avg")]


class Scores:
    """Evaluations held in memory: a number by encoder and suite path."""

    def __init__(self, values):
        self.values = values

    def value(self, encoder, read):
        return self.values.get((encoder, read)), ""


def manifest(columns, rows, cells):
    return {"item": "simcse/table5", "columns": columns, "rows": rows, "cells": cells, "encoders": ENCODERS}


ENCODERS = {"three": ["s0", "s1", "s2"], "one": ["s0"]}


def row(name, columns, group="three", quoted=False):
    named = {f"{entry['id']}|{entry['metric']}": group for entry in columns} if group else {}
    return {"id": name, "label": name.upper(), "quoted": quoted, "protocols": {"as-described": named}}


def sts(group="three", change=lambda cells: None):
    columns = sts_columns()
    cells = {f"r|{task}|spearman": {"reported": number} for task, number in zip(TASKS, PRINTED, strict=True)}
    change(cells)
    return manifest(columns, [row("r", columns, group)], cells)


def made_up_scores(seed=0, left_out=()):
    draw = random.Random(seed)
    return Scores(
        {
            (encoder, f"sts/{task}/all"): round(70 + draw.gauss(0, 4), 2)
            for encoder in ENCODERS["three"]
            for task in TASKS
            if (encoder, task) not in left_out
        }
    )


def slow_interquartile_mean(values):
    """Sort, leave out a quarter of the numbers (rounded down) at each end, average what is left, term by term."""
    kept = sorted(values)
    for _ in range(len(values) // 4):
        kept.remove(min(kept))
        kept.remove(max(kept))
    return math.fsum(kept) / len(kept)


def test_a_row_against_the_slow_reference():
    scores = made_up_scores()
    (found,) = aggregates(sts(), scores)
    assert (found.item, found.row, found.label, found.n_tasks, found.n_seeds) == (
        "simcse/table5",
        "r",
        "R",
        7,
        3,
    )
    assert found.reported == pytest.approx(slow_interquartile_mean([float(number) for number in PRINTED]))
    assert found.ours.value == pytest.approx(slow_interquartile_mean(list(scores.values.values())))
    assert found.ours.low < found.ours.value < found.ours.high


def test_the_interval_redraws_whole_runs():
    """With three runs there are ten different redraws; the bounds are quantiles over them and nothing else."""
    scores = made_up_scores(1)
    runs = [[scores.values[encoder, f"sts/{task}/all"] for task in TASKS] for encoder in ENCODERS["three"]]
    draws = np.random.default_rng(0).integers(3, size=(2000, 3))
    means = [slow_interquartile_mean([value for place in draw for value in runs[place]]) for draw in draws]
    (found,) = aggregates(sts(), scores)
    assert (found.ours.low, found.ours.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_one_seed_has_a_value_and_no_width():
    (found,) = aggregates(sts("one"), made_up_scores())
    assert found.n_seeds == 1
    assert found.ours.low == found.ours.value == found.ours.high


@pytest.mark.parametrize("left_out", [[("s1", "STS14")], [(name, "STS14") for name in ENCODERS["three"]]])
def test_a_missing_part_leaves_no_aggregate(left_out):
    assert list(aggregates(sts(), made_up_scores(left_out=left_out))) == []


def test_a_number_that_is_not_printed_leaves_only_ours():
    (found,) = aggregates(sts(change=lambda cells: cells.pop("r|STS16|spearman")), made_up_scores())
    assert found.reported is None
    assert found.ours.value > 0
    (dash,) = aggregates(
        sts(change=lambda cells: cells["r|STS16|spearman"].update(reported="-")), made_up_scores()
    )
    assert dash.reported is None


def test_quoted_rows_and_other_protocols_have_none():
    document = sts()
    document["rows"].append(row("quoted", document["columns"], group=None, quoted=True))
    document["rows"][0]["protocols"]["as-run"] = dict(document["rows"][0]["protocols"]["as-described"])
    assert [found.row for found in aggregates(document, made_up_scores())] == ["r"]


def test_rows_of_one_label_are_told_apart_by_their_block():
    document = sts()
    document["rows"] = [{**document["rows"][0], "group": group} for group in ("Unsupervised", "Supervised")]
    assert [found.label for found in aggregates(document, made_up_scores())] == [
        "R (Unsupervised)",
        "R (Supervised)",
    ]


def test_columns_of_unequal_seeds_have_none():
    document = sts()
    document["rows"][0]["protocols"]["as-described"]["STS12|spearman"] = "one"
    assert list(aggregates(document, made_up_scores())) == []


def test_a_row_is_read_where_it_says():
    """A row of wmean numbers in a table of `all` columns is aggregated over what it reads."""
    scores = made_up_scores()
    document = sts(
        change=lambda cells: [cells[f"r|{task}|spearman"].update(read=f"sts/{task}/wmean") for task in TASKS]
    )
    assert list(aggregates(document, scores)) == []
    scores.values |= {
        (encoder, read.replace("/all", "/wmean")): 50.0 for (encoder, read), _ in list(scores.values.items())
    }
    (found,) = aggregates(document, scores)
    assert found.ours.value == 50.0


def test_tasks_are_the_columns_of_the_suite_that_is_averaged():
    dev = column("dev", "sts-dev/STS-B/all")
    delta = column("delta", "sts/STS12/all", minus=True)
    geometry = column("alignment", "geometry/alignment")
    columns = [*sts_columns(), dev, delta, geometry]
    assert [entry["id"] for entry in task_columns(columns)] == list(TASKS)
    assert task_columns(sts_columns()[:-1]) == [], "without an average there is nothing to aggregate"
    delta_of_average = column("avg-delta", "sts/avg", minus=True)
    assert task_columns([*sts_columns()[:-1], delta_of_average]) == [], "a difference of averages is none"
    wmean = [*sts_columns()[:-1], column("avg", "sts/avg-wmean")]
    assert len(task_columns(wmean)) == 7


def test_a_few_tasks_have_no_quarter_to_leave_out():
    for tasks, count in ((TASKS[:3], 0), (TASKS[:4], 1)):
        columns = sts_columns(tasks)
        document = manifest(columns, [row("r", columns)], {})
        assert len(list(aggregates(document, made_up_scores()))) == count


NUMBERS = st.lists(st.integers(0, 10_000).map(lambda cents: cents / 100), min_size=21, max_size=21)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_the_order_of_tasks_and_rows_and_the_units_change_nothing(numbers, chance):
    names = [(encoder, f"sts/{task}/all") for encoder in ENCODERS["three"] for task in TASKS]
    document = sts()
    (plain,) = aggregates(document, Scores(dict(zip(names, numbers, strict=True))))
    shuffled = {**document, "columns": chance.sample(document["columns"], len(document["columns"]))}
    hundredths = [value / 100 for value in numbers]
    (scaled,) = aggregates(shuffled, Scores(dict(zip(names, hundredths, strict=True))))
    ours = (plain.ours.value, plain.ours.low, plain.ours.high)
    assert [100 * bound for bound in (scaled.ours.value, scaled.ours.low, scaled.ours.high)] == pytest.approx(
        ours
    )
    assert scaled.reported == pytest.approx(plain.reported)


def test_one_far_task_does_not_move_it():
    scores = made_up_scores()
    (before,) = aggregates(sts("one"), scores)
    lowest = min((name for name in scores.values if name[0] == "s0"), key=lambda name: scores.values[name])
    scores.values[lowest] = 0.0
    (after,) = aggregates(sts("one"), scores)
    assert after.ours == before.ours
