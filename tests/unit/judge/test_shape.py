"""The order of rows in a column against the paper's, and the sheet."""

from itertools import product

import pytest
from golden import example_report as example

from replicse.judge.report.build_report import report
from replicse.judge.statistics.shape import column_values, shapes
from replicse.show.pages.shape import shape_sheet

PRINTED = {
    "p0.0": 71.1,
    "p0.01": 72.6,
    "p0.05": 81.1,
    "p0.1": 82.5,
    "p0.15": 81.4,
    "p0.2": 80.5,
    "p0.5": 71.0,
    "fixed-0.1": 43.6,
}


def table(value_of, columns=("dev",), **more):
    """Return an item with three seeds in each cell.

    Args:
        value_of: Function from a row and a seed to a score.
        columns: Ids of the columns, or dicts. Default: ("dev",).
        more: Further fields of the item.
    """
    heads, cells = [], []
    for column in columns:
        head = column if isinstance(column, dict) else {"id": column, "label": column}
        heads.append({"metric": "spearman", **head})
    for (row, printed), head in product(PRINTED.items(), heads):
        scores = [value_of(row, seed) for seed in (0, 1, 2)]
        cells.append(example.judged(row, head["id"], str(printed), scores))
    return example.result(
        "simcse/table3", "t", heads, [(row, row) for row in PRINTED], cells, baseline="p0.1", **more
    )


def test_the_paper_s_own_order_agrees_wholly():
    item = table(lambda row, seed: PRINTED[row] / 2 + 0.01 * seed)
    (shape,) = shapes(item)
    assert shape.rank.tau == pytest.approx(1)
    assert shape.best.kept
    assert [sign.agrees for sign in shape.signs] == [True] * 7
    (row,) = shape_sheet(report(example.STUDY, [item])).rows
    assert row[0] == "simcse/table3"
    assert row[2] == "8"
    assert row[3].startswith("+1.00")
    assert row[5:] == ("p0.1", "p0.1 (kept)", "7 of 7 (7 resolved)")


def test_rows_that_did_not_run_take_no_part_and_two_rows_are_no_order():
    some = {"p0.0", "p0.1", "fixed-0.1"}
    item = table(lambda row, seed: PRINTED[row] if row in some else None)
    (shape,) = shapes(item)
    assert shape.rank.n_rows == 3
    reported, ours = column_values(item, item.columns[0])
    assert reported == {row: PRINTED[row] for row in PRINTED if row in some}
    assert ours == {row: [PRINTED[row]] * 3 for row in reported}
    assert list(shapes(table(lambda row, seed: PRINTED[row] if row in {"p0.0", "p0.1"} else None))) == []


def test_counts_have_no_order():
    assert (
        list(shapes(table(lambda row, seed: PRINTED[row], [{"id": "n", "label": "n", "metric": "count"}])))
        == []
    )


def test_an_average_stands_for_its_parts_and_the_end_for_a_trajectory():
    average = ["STS12", {"id": "avg", "label": "avg", "average": True}]
    steps = [{"id": f"{step}", "label": f"{step}", "step": step} for step in (0, 10, -1)]
    for columns, expected in ((average, ["avg"]), (steps, ["-1"])):
        found = shapes(table(lambda row, seed: PRINTED[row], columns))
        assert [shape.column for shape in found] == expected
