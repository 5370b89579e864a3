"""The last lines of a run: the user's row, and differences to a baseline."""

import csv
from argparse import Namespace

import pytest
from golden import example_report as example

from replicse.cli.claims import cell_numbers
from replicse.cli.closing import own_row_lines
from replicse.cli.diagnose import refuse_assignments
from replicse.cli.why import difference_line
from replicse.errors import BadInput
from replicse.judge.verdicts.table import CellResult, ColumnHead, RowHead
from replicse.show.content.differences import difference_notes, write_differences
from replicse.show.content.grids import Heading, own_rows_first
from replicse.show.content.tables import grid_of


def cell(row, column, reproduced, reported=None):
    """Return a cell with a score; by default the paper reports no number."""
    printed = None if reported is None else {"value": reported, "source": ""}
    entry = {
        "row": row,
        "column": column,
        "metric": "m",
        "protocol": "as-described",
        "reproduced": reproduced,
    }
    return CellResult.of({**entry, "reported": printed}, "cell")


@pytest.fixture
def own_table():
    """Return a table of a quoted row, a row of the paper, and the user's row."""
    heads = [ColumnHead(id=name, label=name, metric="m", average=name == "avg") for name in ("task", "avg")]
    rows = [
        RowHead(id="quoted", label="Quoted", quoted=True),
        RowHead(id="simcse", label="* SimCSE"),
        RowHead(id="mine", label="my_own", group="own"),
    ]
    cells = [
        cell("quoted", "avg", None, "75.00"), cell("simcse", "avg", None, "76.25"),
        cell("mine", "task", -1.5), cell("mine", "avg", 74.84),
    ]  # fmt: skip
    item = example.result("simcse/table5", "T", [], [], [])
    return item.model_copy(update={"columns": tuple(heads), "rows": tuple(rows), "cells": tuple(cells)})


def test_a_run_ends_with_your_row_the_difference_and_what_to_type(own_table):
    lines = list(own_row_lines(own_table))
    assert lines == [
        "my_own: avg 74.84, \N{MINUS SIGN}1.41 to the nearest printed row, SimCSE 76.25",
        "why: replicse diagnose 74.84 --item simcse/table5/simcse/avg",
        r"LaTeX: my\_own & \ensuremath{-}1.50 & 74.84 \\",
    ]
    first, latex = own_row_lines(own_table.model_copy(update={"is_embedded": True}))
    assert "nearest" not in first and latex.startswith("LaTeX"), "embedded scores are not compared with print"


def test_your_row_is_the_first_in_the_terminal(own_table):
    grid = own_rows_first(grid_of(own_table))
    heading, first, *others = grid.body
    assert isinstance(heading, Heading) and heading.text == "own" and not heading.rule
    assert first.label == "my_own" and [entry.label for entry in others] == ["Quoted", "* SimCSE"]
    assert others[0].rule
    (average,) = [column for column in grid.results if column.id == "avg"]
    assert [each.shown.reproduced or each.shown.reported for each in average.cells] == [
        "74.84",
        "75.00",
        "76.25",
    ]


@pytest.fixture
def compared():
    """Return two rows with three paired seeds; the first row is the baseline."""
    cells = [
        example.judged("base", "dev", "82.5", [60.0, 65.0, 70.0], scale="compact"),
        example.judged("less", "dev", "71.1", [50.0, 54.0, 60.0], scale="compact"),
    ]
    rows = [("base", "Base"), ("less", "Less")]
    return example.result("made/table1", "T", [("dev", "Dev")], rows, cells, scale="compact", baseline="base")


def test_differences_to_the_baseline_row_have_interval_and_p(compared, tmp_path):
    """Check the interval and p of the paired differences -10, -11 and -10.

    The mean is -10.33, the standard error 1/3, and t = -31 with two degrees of freedom.
    """
    difference = "\N{MINUS SIGN}10.33 [\N{MINUS SIGN}11.77, \N{MINUS SIGN}8.90]"
    (note,) = difference_notes(compared)
    assert note == f"Dev, difference to Base (paired by seed, 95% interval): Less {difference}, p 0.001."
    (of_cell,) = [each for each in compared.cells if each.row == "less"]
    named = Namespace(id=compared.id_of(of_cell))
    assert difference_line(compared, named) == f"{difference} to Base, p 0.001 (paired by seed)"
    write_differences(compared, tmp_path / "made.csv")
    (row,) = csv.DictReader((tmp_path / "made.csv").open())
    assert (
        row["row"] == "Less" and row["n_pairs"] == "3" and float(row["p"]) == pytest.approx(0.00104, abs=1e-5)
    )


def test_a_claim_shows_the_numbers_of_its_cells(own_table):
    numbers = cell_numbers([own_table])
    assert numbers["simcse/table5/mine/avg"] == "not printed, ours 74.84"
    assert numbers["simcse/table5/simcse/avg"] == "76.25, ours missing"


def test_a_fact_that_is_no_option_is_refused_with_what_to_type():
    with pytest.raises(BadInput, match='"pooling=mean": write it as an option, --pooling mean'):
        refuse_assignments(["74.84", "pooling=mean"])
    refuse_assignments(["a=b.json", "c.json"])
