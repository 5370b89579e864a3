"""Grids: order, groups, rules, protocols, panels, and the counts on the front page."""

from collections import Counter

import pytest
from golden import example_report as example
from hypothesis import given
from hypothesis import strategies as st

from replicse.registry.mteb import NOT_LOCAL
from replicse.report.content.tables import (
    Heading,
    Line,
    cut,
    folded,
    folded_note,
    grid_of,
    panels,
    remarks,
    run_command,
    verdict_counts,
    why_command,
)
from replicse.report.formats import html, latex, markdown
from replicse.report.formats.terminal import item_text
from replicse.study.results.table import CellResult, ColumnHead, RowHead


def cell(row, column, reproduced, metric="m", protocol="as-described", reported=None, **more):
    printed = None if reported is None else {"value": reported, "source": "", **more.pop("printed", {})}
    entry = {"row": row, "column": column, "metric": metric, "protocol": protocol, "reproduced": reproduced}
    return CellResult.of({**entry, "reported": printed, **more}, "cell")


def table(rows, columns=("a",), cells=(), **more):
    heads = [
        name if isinstance(name, ColumnHead) else ColumnHead(id=name, label=name.upper(), metric="m")
        for name in columns
    ]
    item = example.result("simcse/table1", "t", [], [], [], **more)
    return item.model_copy(update={"columns": tuple(heads), "rows": tuple(rows), "cells": tuple(cells)})


def shape(grid):
    return [
        f"# {entry.text}" if isinstance(entry, Heading) else ("-- " if entry.rule else "") + entry.label
        for entry in grid.body
    ]


def lines(grid):
    return [entry for entry in grid.body if isinstance(entry, Line)]


def header(grid):
    return [column.heading for column in grid.columns]


def test_rows_groups_and_rules_stand_as_printed():
    rows = [
        RowHead(id="1", label="one"),
        RowHead(id="2", label="two", group="G"),
        RowHead(id="3", label="three", group="G"),
        RowHead(id="4", label="four", group="H"),
        RowHead(id="5", label="five"),
        RowHead(id="6", label="six"),
    ]
    grid = grid_of(table(rows))
    assert shape(grid) == ["one", "# G", "two", "three", "# H", "four", "-- five", "six"]
    assert [entry.rule for entry in grid.body if isinstance(entry, Heading)] == [True, True]
    assert grid_of(table(rows[1:2])).body[0] == Heading("G", rule=False)


def test_further_protocols_stand_below_their_row_but_for_variants():
    cells = [
        cell("1", "a", 3.0, protocol="as-run", reported="2.0"),
        cell("1", "a", 2.0, reported="2.0"),
        cell("1", "a", 5.0, protocol="only-to-adjudicate", reported="2.0"),
        cell("2", "a", 4.0, protocol="as-run", reported="2.0"),
    ]
    rows = [RowHead(id="1", label="one"), RowHead(id="2", label="two")]
    grid = grid_of(table(rows, cells=cells, variants={"only-to-adjudicate": "Another"}))
    assert shape(grid) == ["one", "as-run", "two (as-run)"]
    assert [line.indent for line in lines(grid)] == [False, True, False]
    assert [cell.shown.reproduced for cell in grid.results[0].cells] == ["2.0", "3.0", "4.0"]


def test_the_metric_is_part_of_a_cells_address():
    columns = [ColumnHead(id="final", label="final", metric=metric) for metric in ("alignment", "u")]
    grid = grid_of(table([RowHead(id="1", label="one")], columns, [cell("1", "final", 1.0, metric="u")]))
    assert [column.cells[0].shown.reproduced for column in grid.results] == ["", "1.00"]
    assert header(grid) == ["", "alignment, final", "u, final"]


@given(st.integers(1, 30), st.integers(1, 12))
def test_panels_hold_every_column_once_in_order(count, most):
    names = tuple(f"c{place}" for place in range(count))
    cells = [cell("1", name, float(place)) for place, name in enumerate(names)]
    grid = grid_of(table([RowHead(id="1", label="one", group="G")], names, cells))
    parts = panels(grid, most)
    assert [column for panel in parts for column in panel.results] == grid.results
    assert all(panel.columns[:1] == grid.columns[:1] for panel in parts), "the labels stand in each"
    sizes = [len(panel.results) for panel in parts]
    assert max(sizes) <= most and len(parts) == -(-count // most)
    assert all(shape(panel) == shape(grid) for panel in parts)


def test_verdicts_are_counted_as_they_are_shown():
    item = example.dropout_table()
    assert verdict_counts([item]) == Counter(entry.verdict for entry in item.cells)
    small = verdict_counts([example.dropout_table("micro")])
    assert small == {"not comparable": 7, "not run": 1, "failed": 1}
    sts = example.sts_table()
    quoted = sum(row.quoted for row in sts.rows) * 8
    assert verdict_counts([sts])["quoted"] == quoted > 0


def test_rows_that_share_their_runs_say_with_which():
    rows = [
        RowHead(id="1", label="one", group="G"),
        RowHead(id="2", label="one", group="H"),
        RowHead(id="3", label="three", note="Its note.", merged=("1", "2")),
    ]
    grid = grid_of(table(rows))
    assert [cell.mark for cell in grid.columns[0].cells] == ["", "", "a"]
    assert grid.footnotes == (("a", "Its note. Shares its runs with one (G) and one (H) at this scale."),)


def facts_of(item, line):
    return dict(grid_of(item).results[0].cells[line].facts)


def test_facts_of_a_cell_answer_where_it_comes_from():
    item = example.dropout_table()
    facts = facts_of(item, 1)
    low, high = item.cells[1].low, item.cells[1].high
    assert facts["reported"] == "72.6 (Table 3, p. 4)" and "printed as" not in facts
    assert facts["interval"] == f"{low:.6g} to {high:.6g}"
    assert "seeds" not in facts and facts["spread"] == "borrowed from a publication"
    assert facts["runs"].count(", ") == 2 and facts["verdict"] == "higher"
    assert facts["by seed"] == ", ".join(f"{one.seed}: {one.value:.6g}" for one in item.cells[1].values)
    assert facts_of(item, 0)["precision"] == "fp32" and "precision" not in facts
    assert facts_of(item, 5)["by seed"].startswith("0: missing, 1: missing")
    failed = facts_of(item, 6)
    assert failed["because"] == "run infonce-s3 gave nan" and "reproduced" not in failed


@pytest.mark.parametrize(
    ("printed", "text"),
    [({"statistic": "mean", "seeds": 50, "sd": 0.84}, "mean of 50 runs, sd 0.84"), ({}, None)],
)
def test_a_printed_statistic_is_told(printed, text):
    item = table([RowHead(id="1", label="one")], cells=[cell("1", "a", 1.0, reported="1.0", printed=printed)])
    assert facts_of(item, 0).get("printed as") == text


def test_another_statistic_than_the_mean_is_told_in_the_cell_and_below_the_table():
    columns = [ColumnHead(id="a", label="Best", metric="m", statistic="max"), ColumnHead(id="b", label="B")]
    item = table([RowHead(id="1", label="one")], columns, [cell("1", "a", 1.0)], notes=["A note."])
    assert facts_of(item, 0)["ours is"] == "maximum over seeds"
    assert remarks(item) == ("A note.", "Best: ours is the maximum over seeds.")


def test_an_item_says_how_it_is_run_again_and_a_cell_names_a_few_of_its_encoders():
    item = example.dropout_table()
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


def scores(*rows, better="higher", path="sts-dev/STS-B/all", **more):
    """Return a table of one column from rows of (printed, ours); None where there is none."""
    heads = [RowHead(id=str(place), label=f"row {place}") for place in range(len(rows))]
    column = ColumnHead(id="a", label="A", metric="m", metric_path=path, better=better)
    cells = [
        cell(str(place), "a", ours, reported=printed, metric_path=path)
        for place, (printed, ours) in enumerate(rows)
    ]
    return table(heads, [column], cells, **more)


def best_of(item):
    return [cell.shown.best for cell in grid_of(item).results[0].cells]


def test_the_best_number_of_a_column_is_bold_in_print_and_in_ours():
    item = scores(("70.0", 60.0), ("80.0", 50.0), (None, 65.0), ("80.0", None))
    assert best_of(item) == [(), ("reported",), ("reproduced",), ("reported",)]
    assert "**80.0** → 50.0" in markdown.grid(grid_of(item)) and "70.0 → 60.0" in markdown.grid(grid_of(item))
    assert r"\textbf{80.0}" in latex.grid(grid_of(item))
    assert '<span class="reported best">80.0</span>' in html.grid(grid_of(item))
    assert "\x1b[1m80.0\x1b[0m" in item_text(item, colour=True).replace("\x1b[0m\x1b[1m", "")
    lower = scores(("0.2", 0.1), ("0.3", 0.4), better="lower", path="geometry/alignment")
    assert best_of(lower) == [("reported", "reproduced"), ()]
    counts = scores(("750", 3.0), ("800", 4.0), path="data/shared/course-sts/STS-B/train")
    assert best_of(counts) == [(), ()], "a count has no best"
    assert best_of(scores(("70.0", 60.0), ("70.0", 60.0))) == [(), ()]
    figure = scores(("70.0", 60.0), ("80.0", 50.0)).model_copy(update={"kind": "figure"})
    assert best_of(figure) == [(), ()]


def test_absent_data_are_no_failure():
    reason = f"NFCorpus: {NOT_LOCAL}; run it at a scale with hub data"
    absent = cell("1", "a", None, reported="1.0", verdict="failed", failure=reason, reason=reason)
    failed = cell("2", "a", None, reported="1.0", verdict="failed", failure="nan", reason="nan")
    rows = [RowHead(id="1", label="one"), RowHead(id="2", label="two")]
    item = table(rows, cells=[absent, failed], scale="compact")
    assert [cell.shown.words for cell in grid_of(item).results[0].cells] == [
        "1.0 – data absent", "1.0 ✗ failed",
    ]  # fmt: skip
    assert verdict_counts([item]) == {"data absent": 1, "failed": 1}
    assert facts_of(item, 0)["because"] == reason


def test_columns_without_a_number_of_ours_are_folded_and_named():
    rows = [RowHead(id="1", label="one")]
    cells = [cell("1", "a", 2.0, reported="1.0"), cell("1", "b", None, reported="3.0", verdict="not run")]
    grid, rest = folded(grid_of(table(rows, "ab", cells)))
    assert header(grid) == ["", "A"] and header(rest) == ["", "B"]
    assert folded_note(rest).startswith("Columns without a number of ours: B (1 cells: not run).")
    nothing = grid_of(table(rows, "b", cells))
    assert folded(nothing) == (nothing, None), "a table without any is shown"


@given(st.integers(1, 12), st.integers(1, 30))
def test_a_grid_is_cut_by_rows_into_parts_that_repeat_their_heading(count, most):
    rows = [RowHead(id=str(place), label=str(place), group="GH"[place % 7 > 3]) for place in range(count)]
    cells = [cell(row.id, name, 1.0) for row in rows for name in "ab"]
    grid = grid_of(table(rows, "ab", cells))
    parts = cut(grid, most)
    assert [line for part in parts for line in lines(part)] == lines(grid)
    for part in parts:
        assert all(len(column.cells) == len(lines(part)) for column in part.columns)
        assert len(lines(part)) <= max(1, most // 2) and isinstance(part.body[0], Heading)
