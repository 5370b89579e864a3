"""Tables: order, groups, rules, protocols, panels, and counts."""

import re

import pytest
from golden import example_report as example
from hypothesis import given
from hypothesis import strategies as st

from replicse.judge.report.build_report import judged_item
from replicse.judge.verdicts.table import CellResult, ColumnHead, RowHead
from replicse.registry.mteb import NOT_LOCAL
from replicse.show.content.cell_facts import run_command, why_command
from replicse.show.content.grids import Heading, panels, with_numbers
from replicse.show.content.sheets import verdict_counts
from replicse.show.content.tables import grid_of
from replicse.show.formats import latex


def cell(row, column, reproduced, metric="m", protocol="as-described", reported=None, **more):
    """Return a cell, by default of the text of the paper without a number."""
    printed = None if reported is None else {"value": reported, "source": "", **more.pop("printed", {})}
    entry = {"row": row, "column": column, "metric": metric, "protocol": protocol, "reproduced": reproduced}
    return CellResult.of({**entry, "reported": printed, **more}, "cell")


def table(rows, columns=("a",), cells=(), **more):
    """Return an item; the default is one column and no cells."""
    heads = []
    for column in columns:
        if not isinstance(column, ColumnHead):
            column = ColumnHead(id=column, label=column.upper(), metric="m")
        heads.append(column)
    item = example.result("simcse/table1", "t", [], [], [], **more)
    whole = item.model_copy(update={"columns": tuple(heads), "rows": tuple(rows), "cells": tuple(cells)})
    return judged_item(whole)


def test_percent_signs_of_a_table_are_text_in_latex():
    """Percent signs in a table are escaped in LaTeX.

    Otherwise TeX ignores the rest of the line as a comment.
    """
    rows = [RowHead(id="a", label="10% of it", group="Half, 50%")]
    heads = [ColumnHead(id="a", label="At 20%", metric="m")]
    lines = latex.grid(grid_of(table(rows, heads, [cell("a", "a", 11.0, reported="11.4%")])), "All, 100%")
    for text in ("10", "50", "20", "11.4", "100"):
        assert rf"{text}\%" in lines
    assert not re.search(r"(?<!\\)%", lines)


def marks_of(grid):
    return [cell.mark for cell in grid.columns[0].cells]


def shape(grid):
    lines = []
    for entry in grid.body:
        if isinstance(entry, Heading):
            lines.append(f"# {entry.text}")
        else:
            lines.append(f"-- {entry.label}" if entry.rule else entry.label)
    return lines


def test_rows_without_a_number_go_with_their_heading_and_a_row_with_one_keeps_its_name():
    rows = [
        RowHead(id="a", label="A", group="One"),
        RowHead(id="b", label="B", group="Two"),
        RowHead(id="c", label="C", group="Two"),
    ]
    cells = [
        cell("a", "a", None), cell("b", "a", None, reported="1.0"), cell("c", "a", None, reported="2.0"),
        cell("c", "a", 2.0, protocol="released"),
    ]  # fmt: skip
    grid = grid_of(table(rows, cells=cells))
    kept = with_numbers(grid)
    assert [line.removeprefix("-- ") for line in shape(kept)] == ["# Two", "C", "released"]
    for column in kept.columns:
        assert len(column.cells) == 2
    bare = grid_of(table(rows, cells=cells[:1]))
    assert with_numbers(bare) == bare


@given(st.integers(1, 30), st.integers(1, 12))
def test_panels_hold_every_column_once_in_order(count, most):
    names = tuple(f"c{place}" for place in range(count))
    cells = [cell("1", name, float(place)) for place, name in enumerate(names)]
    grid = grid_of(table([RowHead(id="1", label="one", group="G")], names, cells))
    parts = panels(grid, most)
    assert len(parts) == -(-count // most)
    columns = []
    for panel in parts:
        columns += panel.results
        assert panel.columns[:1] == grid.columns[:1], "the labels stand in each"
        assert len(panel.results) <= most
        assert shape(panel) == shape(grid)
    assert columns == grid.results


def test_rows_that_share_their_runs_say_with_which():
    rows = [
        RowHead(id="1", label="one", group="G"),
        RowHead(id="2", label="one", group="H"),
        RowHead(id="3", label="three", note="Its note.", merged=("1", "2")),
    ]
    grid = grid_of(table(rows))
    assert marks_of(grid) == ["", "", "a"]
    assert grid.footnotes == (("a", "Its note. Same runs as one (G) and one (H) at this scale."),)


@pytest.mark.parametrize("listed", [1, 800])
def test_more_rows_with_notes_than_marks_of_two_letters(listed):
    """A table with 703 notes once ended the report; notes of equal rows grew quadratically.

    Items of earlier versions list all rows above, and not only the first.
    """
    names = list(map(str, range(800)))
    rows = [
        RowHead(id=name, label=name, note=f"Note {name}.", merged=tuple(names[: min(place, listed)]))
        for place, name in enumerate(names)
    ]
    grid = grid_of(table(rows))
    marks = marks_of(grid)
    assert marks[24:28] == ["y", "z", "aa", "ab"] and marks[700:704] == ["zy", "zz", "aaa", "aab"]
    assert len(set(marks)) == len(rows) and tuple(marks) == tuple(mark for mark, _ in grid.footnotes)
    last = "Note 799. Same runs as 0, 1, 2, 3, 4, 5, 6, 7 and 791 more at this scale."
    assert grid.footnotes[-1][1] == last


def facts_of(item, line):
    return dict(grid_of(item).results[0].cells[line].facts)


def test_an_item_says_how_it_is_run_again_and_a_cell_names_a_few_of_its_encoders():
    item = example.item("dropout")
    assert run_command(item) == "replicse run simcse/table3 --config results/paper/config.json"
    kept = item.model_copy(update={"kept": "mine"})
    assert run_command(kept) == "replicse run simcse/table3 --config reports/studies/mine/config.json"
    assert run_command(kept.model_copy(update={"outdated": "Made by an earlier version."})) == ""
    assert why_command(item, item.cells[0]) == "replicse why simcse/table3/p0.0/stsb-dev --scale paper"
    spaced = item.cells[0].model_copy(update={"column": "step 0"})
    assert why_command(kept, spaced) == "replicse why 'simcse/table3/p0.0/step 0' --study mine"
    many = cell("1", "a", 1.0, encoders=["a", "b", "c", "d", "e"])
    facts = facts_of(table([RowHead(id="1", label="one")], cells=[many]), 0)
    assert facts["encoders"] == "a, b, c and 2 more"


def test_absent_data_are_no_failure():
    reason = f"NFCorpus: {NOT_LOCAL}; run it at a scale with datasets of the hub"
    absent = cell("1", "a", None, reported="1.0", verdict="failed", failure=reason, reason=reason)
    failed = cell("2", "a", None, reported="1.0", verdict="failed", failure="nan", reason="nan")
    rows = [RowHead(id="1", label="one"), RowHead(id="2", label="two")]
    item = table(rows, cells=[absent, failed], scale="compact")
    shown = [cell.shown for cell in grid_of(item).results[0].cells]
    assert [(each.text, each.word) for each in shown] == [("1.0 –", "data absent"), ("1.0 ✗", "failed")]
    assert verdict_counts([item]) == {"data absent": 1, "failed": 1}
    assert facts_of(item, 0)["because"] == reason
