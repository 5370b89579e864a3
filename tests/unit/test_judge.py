"""A study judged once: four files from the items' results, an absent item, and verbs that say the same."""

import json

import pytest
from made_up import write_scores
from places import ROOT

from replicse.cli import main
from replicse.files import read_rows, write_json
from replicse.study.judge.audit import audit, audit_plan
from replicse.study.judge.study import judge_study, read_results
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import TIDY, item_result
from replicse.study.results.values import Evaluations

WORKFLOW = ROOT / "workflow"
CONFIG = {
    "scale": "compact",
    "papers": {"simcse": ["table1", "table3"], "repro": ["table4", "table5"]},
    "adjudicate": ["repro/table4"],
    "seeds": [0, 1, 2],
}


@pytest.fixture(scope="module")
def plan():
    return load_plan(CONFIG, WORKFLOW)


@pytest.fixture
def tabulated(plan, tmp_path, monkeypatch):
    """A folder in which every item of the study is tabulated, and its config."""
    monkeypatch.chdir(tmp_path)
    write_scores(plan, plan.items, lambda cell, seed: 60 + len(cell.row.id) + 0.3 * seed)
    evaluations = Evaluations(plan)
    for item in plan.items.values():
        write_json(plan.paths.item(item.id), item_result(plan, item, evaluations).plain())
    for name in ("study.json", "config.yaml"):  # JSON is YAML too
        (tmp_path / name).write_text(json.dumps(CONFIG))
    return tmp_path


def judge(folder):
    assert main(["judge", "--study", "study.json", "--out", str(folder), "--workflow", str(WORKFLOW)]) == 0
    return {name: read_rows(folder / f"{name}.csv") for name in ("claims", "adjudication", "audit", "cells")}


def test_four_files_hold_what_the_verbs_print(tabulated, plan, capsys):
    written = judge(tabulated / "out")
    assert main(["claims", "--workflow", str(WORKFLOW), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == written["claims"]
    assert main(["adjudicate", "repro/table4", "--workflow", str(WORKFLOW), "--json"]) == 0
    texts = [
        {key: "" if value is None else str(value) for key, value in row.items()}
        for row in json.loads(capsys.readouterr().out)
    ]
    assert texts == written["adjudication"] and any(row["effect"] for row in texts)
    assert written["audit"] == [one.row() for one in audit(audit_plan(plan.papers, WORKFLOW))]
    assert tuple(written["cells"][0]) == TIDY
    assert len(written["cells"]) == sum(len(cell.values) for one in read_results(plan) for cell in one.cells)


def test_the_results_read_are_those_that_were_tabulated(tabulated, plan):
    evaluations = Evaluations(plan)
    assert read_results(plan) == [item_result(plan, item, evaluations) for item in plan.items.values()]


def test_the_cells_of_an_absent_item_are_missing(tabulated, plan, caplog):
    whole = {row["claim"]: row for row in judge(tabulated / "whole")["claims"]}
    (tabulated / plan.paths.item("simcse/table3")).unlink()
    (tabulated / plan.paths.item("repro/table4")).unlink()
    written = judge(tabulated / "part")
    assert "not tabulated: simcse/table3, repro/table4" in caplog.text
    claim = next(row for row in written["claims"] if row["claim"] == "simcse/default-dropout-best")
    assert whole[claim["claim"]]["ours"] != "not run" and claim["ours"] == "not run"
    assert "ours: missing: simcse/table3/p0.1/stsb-dev" in claim["reason"]
    assert written["adjudication"] == []
    assert {row["item"] for row in written["cells"]} == {"table1", "table5"}


def test_judging_needs_no_evaluation(tabulated, plan):
    """Claims and adjudication cannot contradict the tables: they read nothing else."""
    before = judge_study(plan, read_results(plan))
    write_scores(plan, plan.items, lambda cell, seed: 1.0)
    assert judge_study(plan, read_results(plan)) == before
