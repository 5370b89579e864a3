"""The shape of tabulated columns beside the paper's, and the sheet that shows it."""

import json

import pytest
from places import ROOT

from replicse.report.pages.shape import shape_sheet
from replicse.study.plan.planner import load_plan
from replicse.study.results.manifest import manifest_of
from replicse.study.results.shape import column_values, shapes
from replicse.study.results.tabulate import Evaluations

CONFIG = {"scale": "compact", "papers": {"simcse": ["table3"], "repro": ["table5"]}, "seeds": [0, 1]}


def filled(folder, monkeypatch, item, value_of):
    """Return manifest and evaluations of an item whose rows have `value_of(row, seed)`."""
    monkeypatch.chdir(folder)
    plan = load_plan(CONFIG, ROOT / "workflow")
    for cell in plan.cells[item]:
        for seed, encoder in enumerate(cell.encoders):
            value = value_of(cell.row.id, seed)
            if value is None:
                continue
            path = folder / plan.paths.encoder(encoder, "evaluation")
            path.parent.mkdir(parents=True, exist_ok=True)
            scores = {"sts-dev": {task: {"all": value} for task in ("STS-B", "SICK-R")}}
            path.write_text(json.dumps({"suites": scores, "failures": {}}))
    return manifest_of(plan, plan.items[item]), Evaluations(plan.paths)


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


def test_the_paper_s_own_order_agrees_wholly(tmp_path, monkeypatch):
    found = filled(tmp_path, monkeypatch, "simcse/table3", lambda row, seed: PRINTED[row] / 2 + 0.01 * seed)
    (shape,) = shapes(*found)
    assert shape.agreement.rank.tau == pytest.approx(1)
    assert shape.agreement.best.kept
    assert [sign.agrees for sign in shape.agreement.signs] == [True] * 7
    (row,) = shape_sheet([shape]).rows
    assert row[0] == "simcse/table3"
    assert row[2] == "8"
    assert row[3].startswith("+1.00")
    assert row[5:] == ("p0.1", "p0.1 (kept)", "7 of 7 (7 resolved)")


def test_the_opposite_order_disagrees_wholly(tmp_path, monkeypatch):
    found = filled(tmp_path, monkeypatch, "simcse/table3", lambda row, seed: 100 - PRINTED[row])
    (shape,) = shapes(*found)
    assert shape.agreement.rank.tau == pytest.approx(-1)
    assert not shape.agreement.best.kept
    assert not any(sign.agrees for sign in shape.agreement.signs)


def test_rows_that_did_not_run_take_no_part_and_two_rows_are_no_order(tmp_path, monkeypatch):
    some = {"p0.0", "p0.1", "fixed-0.1"}
    found = filled(
        tmp_path, monkeypatch, "simcse/table3", lambda row, seed: PRINTED[row] if row in some else None
    )
    (shape,) = shapes(*found)
    assert shape.agreement.rank.n_rows == 3
    manifest, evaluations = found
    reported, ours = column_values(manifest, manifest["columns"][0], evaluations)
    assert reported.keys() == ours.keys() == some
    assert all(len(values) == 2 for values in ours.values())


def test_printed_differences_are_no_order_of_their_own(tmp_path, monkeypatch):
    found = filled(tmp_path, monkeypatch, "repro/table5", lambda row, seed: PRINTED[row])
    assert [shape.column for shape in shapes(*found)] == ["stsb-dev", "sick-dev"]
