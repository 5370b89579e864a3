"""Test wrong evaluations, the tidy table, and rows that a scale merges."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from made_up import made_plan, write_evaluation, write_paper
from places import ROOT

from replicse.compile.item_plan import plan_item
from replicse.compile.job_states import JobStates
from replicse.errors import BadInput
from replicse.judge.report.csv_rows import TIDY, tidy_rows
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.pairs import pack_pairs
from replicse.judge.verdicts.tabulate import item_result

PATH = "sts/STS12/all"
PLAIN = {"id": "r", "encoder": {"use": "plain"}}


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Return a function to write a paper with a column and compile it."""
    monkeypatch.chdir(tmp_path)

    def plan_of(*rows, seeds=1):
        """Compile a table of these rows; the default is one row and one seed."""
        shutil.rmtree("papers", ignore_errors=True)
        table = {
            "setting": {"metric": "spearman"},
            "columns": [{"id": "a", "metric_path": PATH}],
            "rows": rows or [PLAIN],
        }
        write_paper(tmp_path, "made", {"table1": table})
        return made_plan(tmp_path, seeds=[*range(seeds)])

    return plan_of


def file_of(plan):
    """Return the path of the first encoder's evaluation file."""
    return Path(plan.paths.evaluation(plan.cells["made/table1"][0].encoders[0], "fast"))


def result_of(plan, *scores):
    """Return the result of the table if encoders have the given scores.

    Args:
        plan: The compiled study.
        scores: Score of each encoder of a cell, used for all cells.
    """
    for cell in plan.cells["made/table1"]:
        for encoder, score in zip(cell.encoders, scores, strict=False):
            write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), {PATH: score})
    return item_result(plan_item(plan, plan.item("made/table1")), Measurements(plan))


@cases
def test_the_evaluation_of_another_encoder_is_refused_in_this_place(planned, key, value):
    plan = planned()
    assert result_of(plan, 70.0).cells[0].reproduced == 70.0
    own = json.loads(file_of(plan).read_text())
    for other in ({**own, key: value}, {name: own[name] for name in own if name != key}):
        file_of(plan).write_text(json.dumps(other))
        told = rf"fast\.json: {key} is .*, but the encoder of this folder has .*; delete it"
        with pytest.raises(BadInput, match=told):
            result_of(plan)


def test_a_difference_is_ours_less_the_printed_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    difference = {
        "id": "d", "kind": "difference", "metric_path": PATH,
        "subtract": {"item": "made/table1", "column": "a", "metric": "spearman"},
    }  # fmt: skip
    table = {
        "setting": {"metric": "spearman"},
        "columns": [{"id": "a", "metric_path": PATH}, difference],
        "rows": [PLAIN],
    }
    printed = [{"item": "table1", "row": "r", "column": "a", "value": "70.0"}]
    write_paper(tmp_path, "made", {"table1": table}, printed)
    plan = made_plan(tmp_path, seeds=[0])
    scores, differences = result_of(plan, 71.5).cells
    assert (scores.reproduced, differences.reproduced) == (71.5, 1.5)


def test_a_row_of_ones_own_is_told_less_the_printed_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns, setting = [{"id": "a", "metric_path": PATH}], {"metric": "spearman"}
    table, printed = {"setting": setting, "columns": columns, "rows": [PLAIN]}, {"item": "table1", "row": "r"}
    write_paper(tmp_path, "made", {"table1": table}, [{**printed, "column": "a", "value": "70.0"}])
    (tmp_path / "models").mkdir()
    plan = made_plan(tmp_path, rows={"made/table1": {"mine": {"folder": "models", "label": "Ours"}}})
    cells = {cell.row.id: cell.encoders for cell in plan.cells["made/table1"]}
    assert not cells["r"] and len(cells["mine"]) == 1
    for encoder in cells["mine"]:
        write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), {PATH: 71.5})
    result = item_result(plan_item(plan, plan.item("made/table1")), Measurements(plan))
    assert result.notes[-2:] == (
        "Run here: mine. The rows of the paper are shown as it prints them.",
        "Ours minus the printed rows, a: +1.50 r.",
    )
    assert not result.cells[-1].verdict, "without a printed number there is nothing to judge"


@cases
def test_what_is_no_number_or_contradicts_its_own_file_is_refused(planned, suites, pairs, problem):
    plan, gold = planned(), np.arange(float(pairs))
    packed = {"sts/STS12": pack_pairs(gold / 5, gold)} if pairs else {}
    write_evaluation(plan, file_of(plan), suites, pairs=packed)
    with pytest.raises(BadInput, match=re.escape(problem)):
        result_of(plan)


def test_a_metric_that_was_taken_out_of_an_evaluation_is_named_and_a_suite_is_still_to_come(planned):
    """If an evaluation lacks a metric, the metric is named.

    A suite that has not run yet should not be reported. Without the error, a study with a missing cell could
    be kept as complete.
    """
    plan = planned()
    for suites, named in (({"sts/STS13/all": 70.0}, True), ({"transfer/MR/accuracy": 70.0}, False)):
        write_evaluation(plan, file_of(plan), suites)
        with pytest.raises(
            BadInput, match=r"fast\.json: does not contain sts/STS12/all; delete it and evaluate again"
        ):
            result_of(plan)
        some = Measurements(plan, JobStates(plan))
        assert some.evaluation(str(file_of(plan))) is None if named else not some.broken


def test_every_value_of_every_cell_is_a_row_of_the_tidy_table(planned):
    plan = planned(PLAIN, {**PLAIN, "id": "q", "quoted": True}, seeds=2)
    tidy = list(tidy_rows([result_of(plan, 70.0)]))
    (cell,) = [cell for cell in plan.cells["made/table1"] if cell.jobs]
    runs = [plan.encoders[encoder].source.run for encoder in cell.encoders]
    assert list(map(tuple, tidy)) == [TIDY, TIDY]
    expected = zip((0, 1), (70.0, ""), cell.encoders, runs, strict=True)
    for line, (seed, value, encoder, run) in zip(tidy, expected, strict=True):
        found = tuple(line.values())[:10]
        assert found == ("made", "table1", "r", "a", "as-described", seed, PATH, value, encoder, run)
    (only,) = tidy_rows([result_of(planned({"id": "r", "encoder": {"backbone": "bert-base"}}), 70.0)])
    assert (only["seed"], only["value"], only["run"]) == ("", 70.0, "")
    assert only["encoder"].startswith("bert-base-uncased-")


def test_rows_that_a_scale_merges_into_one_run_are_marked(planned, tmp_path):

    def row(name, rate, **changes):
        run = {"optimisation": {"learning_rate": rate}, **changes}
        return {"id": name, "encoder": {"use": "plain", "run": run}}

    rows = [
        row("small", 1e-5),
        row("large", 3e-5),
        row("larger", 4e-5),
        row("other", 5e-5, dropout={"hidden": 0.2}),
        {"id": "baseline", "encoder": {"backbone": "bert-base"}},
        {"id": "again", "encoder": {"backbone": "bert-base"}},
    ]
    before = result_of(planned(*rows), 70.0)
    (tmp_path / "scales").unlink()
    shutil.copytree(ROOT / "workflow" / "scales", tmp_path / "scales")
    with (tmp_path / "scales/paper.yaml").open("a", encoding="utf-8") as file:
        file.write("adjust:\n  - {path: optimisation.learning_rate, set: 3.0e-5}\n")
    after = result_of(planned(*rows), 70.0)
    assert not any(head.merged for head in before.rows)
    merged = {head.id: head.merged for head in after.rows if head.merged}
    assert merged == {"large": ("small",), "larger": ("small",)}, "baselines have no runs to be merged"
    assert after.rows_with_same_runs(after.rows[2]) == ["small", "large"]
