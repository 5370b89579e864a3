"""Grids: order, groups, rules, protocols, panels, and the counts on the front page."""

from collections import Counter
from dataclasses import replace

import pytest
from golden import example_report as example
from hypothesis import given
from hypothesis import strategies as st

from replicse.report.content.items import Column, Item, Result, Row
from replicse.report.content.tables import (
    Heading,
    Line,
    Sheet,
    counts_sheet,
    full_grid,
    grid_of,
    legend,
    marks_of,
    panels,
    verdict_counts,
)


def table(rows, columns=("a",), results=(), **more):
    return Item(
        id="simcse/table1",
        paper="simcse",
        kind="table",
        title="t",
        scale="paper",
        columns=tuple(Column(id=name, label=name.upper()) for name in columns),
        rows=tuple(rows),
        results=tuple(results),
        **more,
    )


def shape(grid):
    return [
        f"# {entry.text}" if isinstance(entry, Heading) else ("-- " if entry.rule else "") + entry.label
        for entry in grid.body
    ]


def test_rows_groups_and_rules_stand_as_printed():
    rows = [
        Row(id="1", label="one"),
        Row(id="2", label="two", group="G"),
        Row(id="3", label="three", group="G", rule=True),
        Row(id="4", label="four", group="H"),
        Row(id="5", label="five"),
        Row(id="6", label="six"),
    ]
    grid = grid_of(table(rows))
    assert shape(grid) == ["one", "# G", "two", "-- three", "# H", "four", "-- five", "six"]
    assert [entry.rule for entry in grid.body if isinstance(entry, Heading)] == [True, True]
    assert grid_of(table(rows[1:2])).body[0] == Heading("G", rule=False)


def test_a_row_without_a_cell_keeps_its_line():
    grid = grid_of(table([Row(id="1", label="one"), Row(id="2", label="two")], ("a", "b")))
    assert shape(grid) == ["one", "two"]
    assert all(cell.shown.words == "" and cell.facts == () for line in grid.lines for cell in line.cells)


def test_further_protocols_stand_below_their_row():
    results = [
        Result(row="1", column="a", protocol="as-run", reported="2.0", reproduced=3.0),
        Result(row="1", column="a", reported="2.0", reproduced=2.0),
        Result(row="2", column="a", protocol="as-run", reported="2.0", reproduced=4.0),
    ]
    grid = grid_of(table([Row(id="1", label="one", rule=True), Row(id="2", label="two")], results=results))
    assert shape(grid) == ["-- one", "as-run", "two (as-run)"]
    assert [line.indent for line in grid.lines] == [False, True, False]
    assert [line.cells[0].shown.reproduced for line in grid.lines] == ["2.0", "3.0", "4.0"]


def test_the_metric_is_part_of_a_cells_address():
    columns = (
        Column(id="final", label="final", metric="alignment"),
        Column(id="final", label="final", metric="u"),
    )
    results = [Result(row="1", column="final", metric="u", reproduced=1.0)]
    grid = grid_of(replace(table([Row(id="1", label="one")], results=results), columns=columns))
    assert [cell.shown.reproduced for cell in grid.lines[0].cells] == ["", "1.00"]
    assert grid.header == ("alignment, final", "u, final")


def test_a_column_that_is_better_when_lower_says_so():
    columns = (Column(id="a", label="loss", better="lower"),)
    assert grid_of(replace(table([]), columns=columns)).header == ("loss ↓",)


def test_a_trajectory_is_cut_to_its_ends_but_counted_whole():
    item = example.trajectory_figure()
    assert grid_of(item).header == (
        "alignment, step 0 ↓",
        "uniformity, step 0 ↓",
        "alignment, final ↓",
        "uniformity, final ↓",
    )
    assert len(full_grid(item).header) == len(item.columns) == 44


@given(st.integers(1, 30), st.integers(1, 12))
def test_panels_hold_every_column_once_in_order(count, most):
    names = tuple(f"c{place}" for place in range(count))
    results = [Result(row="1", column=name, reproduced=float(place)) for place, name in enumerate(names)]
    grid = grid_of(table([Row(id="1", label="one", group="G")], names, results))
    cut = panels(grid, most)
    assert sum((panel.header for panel in cut), ()) == grid.header
    assert sum((panel.lines[0].cells for panel in cut), ()) == grid.lines[0].cells
    sizes = [len(panel.header) for panel in cut]
    assert max(sizes) <= most and len(cut) == -(-count // most)
    assert all(shape(panel) == shape(grid) for panel in cut)


def test_notes_on_rows_are_lettered_in_order():
    rows = [
        Row(id=str(place), label=str(place), note=f"note {place}" if place % 2 else "") for place in range(60)
    ]
    grid = grid_of(table(rows))
    letters = [line.mark for line in grid.lines if line.mark]
    assert letters[:2] == ["a", "b"] and letters[25:28] == ["z", "aa", "ab"]
    assert marks_of(grid) == [(letter, f"note {2 * place + 1}") for place, letter in enumerate(letters)]


def test_verdicts_are_counted_as_they_are_shown():
    item = example.dropout_table()
    assert verdict_counts([item]) == Counter(result.verdict for result in item.results)
    small = verdict_counts([example.dropout_table("micro")])
    assert small == {"not comparable": 6, "not run": 1, "failed": 1}
    sts = example.sts_table()
    quoted = sum(row.quoted for row in sts.rows) * 8
    assert verdict_counts([sts])["quoted"] == quoted > 0


def test_the_counts_sheet_adds_up():
    papers = [
        ("simcse", [example.dropout_table(), example.sts_table()]),
        ("repro", [example.augmentation_table()]),
    ]
    sheet = counts_sheet(papers)
    assert sheet.header == ("Verdict", "simcse", "repro", "all")
    assert sheet.numeric == {1, 2, 3}
    numbers = [[int(text) for text in row[1:]] for row in sheet.rows]
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    assert all(sum(row[:-1]) == row[-1] for row in numbers)


def test_facts_of_a_cell_answer_where_it_comes_from():
    line = grid_of(example.dropout_table()).lines[1]
    facts = dict(line.cells[0].facts)
    assert facts["reported"] == "72.6 (Table 3, p. 4)"
    assert facts["interval"] == "73.7851 to 76.0251"
    assert facts["seeds"] == "3" and facts["spread"] == "borrowed from a publication"
    assert facts["encoders"].count(", ") == 2 and facts["verdict"] == "higher"
    failed = dict(grid_of(example.dropout_table()).lines[6].cells[0].facts)
    assert failed["because"] == "run infonce-s3 gave nan" and "reproduced" not in failed


def test_a_reason_is_not_given_for_a_verdict_that_is_not_shown():
    item = replace(
        table([Row(id="1", label="one")]),
        scale="micro",
        results=(
            Result(
                row="1", column="a", reported="1.0", reproduced=2.0, verdict="higher", reason="lies below"
            ),
        ),
    )
    facts = dict(grid_of(item).lines[0].cells[0].facts)
    assert facts["verdict"] == "not comparable" and "because" not in facts


def test_a_sheet_must_be_even():
    with pytest.raises(ValueError, match="expected 2"):
        Sheet("s", ("a", "b"), (("1",),))
    assert Sheet("s", ("a", "b"), (("x", "1,000"), ("y", ""))).numeric == {1}
    assert {row[0] for row in legend().rows} >= {"≈", "▲", "▼", "*"}


def test_lines_are_the_rows_without_headings():
    grid = grid_of(example.pooling_table())
    assert all(isinstance(line, Line) for line in grid.lines)
    assert [line.label for line in grid.lines] == ["w/ MLP", "w/ MLP (train)", "w/o MLP", "First-last avg."]
    assert not grid.stacked and grid_of(example.sts_table()).stacked
