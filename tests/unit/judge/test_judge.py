"""A complete judged study: four CSV files, a missing item and verb output."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest
from made_up import write_scores
from planned import WORKFLOW, shipped_audit, shipped_plan

from replicse.cli import audit as audit_verb
from replicse.cli import main, why
from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import plan_item
from replicse.files import read_json, read_rows, write_json
from replicse.judge.audit.audit_papers import NOT_AUDITED, audit, audit_plan, findings_on
from replicse.judge.report import judge_study as study
from replicse.judge.report.csv_rows import TIDY
from replicse.judge.report.judge_study import judge_study, read_results
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result

CONFIG = {
    "scale": "compact",
    "papers": {"simcse": ["table1", "table3"], "repro": ["table4", "table5"]},
    "adjudicate": ["repro/table4"],
    "seeds": [0, 1, 2],
}


@pytest.fixture(scope="module")
def plan():
    return shipped_plan(**CONFIG)


@pytest.fixture(autouse=True)
def _audited_once(monkeypatch):
    """Audit the shipped papers once, because the result is always the same."""
    for module in (audit_verb, why, study):
        real = module.audit_plan

        def once(workflow, cell=None, study=None, real=real):
            shipped = cell is None and workflow == WORKFLOW and not (study and study.corpora)
            return shipped_audit()[0] if shipped else real(workflow, cell, study)

        monkeypatch.setattr(module, "audit_plan", once)


@pytest.fixture
def tabulated(plan, tmp_path, monkeypatch):
    """Write a result for every item of the study; return the folder."""
    monkeypatch.chdir(tmp_path)
    write_scores(plan, plan.items, lambda cell, seed: 60 + len(cell.row.id) + 0.3 * seed)
    evaluations = Measurements(plan)
    for item in plan.items.values():
        write_json(plan.paths.item(item.id), item_result(plan_item(plan, item), evaluations).plain())
    for name in ("config.json", "config.yaml"):  # JSON is also valid YAML
        (tmp_path / name).write_text(json.dumps(CONFIG))
    return tmp_path


def judge(folder):
    outputs = [str(folder / name) for name in ("judgements.json", "claims.csv")]
    specification = {
        "stage": "judge",
        "id": "",
        "digests": {},
        "payload": {"study": "config.json"},
        "inputs": [],
    }
    write_json("results/micro/jobs/judge.json", {**specification, "outputs": outputs})
    assert main(["job", "results/micro/jobs/judge.json"]) == 0
    assert read_json(folder / "judgements.json.job")["specification"]["stage"] == "judge"
    return {name: read_rows(folder / f"{name}.csv") for name in ("claims", "adjudication", "audit", "cells")}


def text_of(value):
    return "" if value is None else str(value)


def as_written(row):
    return {key: text_of(value) for key, value in row.items()}


def test_four_files_hold_what_the_verbs_print(tabulated, plan, capsys):
    written = judge(tabulated / "out")
    assert main(["claims", "--workflow", str(WORKFLOW), "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert {type(row["n_seeds"]) for row in claims} == {int}
    assert {type(row["probability"]) for row in claims} == {float, type(None)}
    assert list(map(as_written, claims)) == written["claims"]
    assert main(["adjudicate", "repro/table4", "--workflow", str(WORKFLOW), "--json"]) == 0
    variants = json.loads(capsys.readouterr().out)["variants"]
    for variant, row in zip(variants, written["adjudication"], strict=True):
        assert row["effect"] == text_of(variant["effect"])
        assert type(variant["reported"]) is float and variant["unit"] == "points"
        assert len(variant["by_seed"]) == len(list(filter(None, row["by_seed"].split("; "))))
    assert any(variant["effect"] is not None for variant in variants)
    every = [one.line() for one in shipped_audit()[1]]
    assert written["audit"] == every and {row["paper"] for row in every} > set(plan.studied)
    assert tuple(written["cells"][0]) == TIDY
    assert len(written["cells"]) == sum(len(cell.values) for one in read_results(plan) for cell in one.cells)


def test_judging_needs_no_evaluation(tabulated, plan):
    """A study should be judged without the evaluation files.

    Claims and adjudication only use the results of items, so they cannot contradict the tables.
    """
    before = judge_study(plan, read_results(plan))
    write_scores(plan, plan.items, lambda cell, seed: 1.0)
    assert judge_study(plan, read_results(plan)) == before


def test_what_cannot_be_planned_at_the_papers_scale_stops_no_study(tmp_path, caplog):
    """A study should be judged even if another paper cannot be planned.

    A missing backbone of an unrelated paper in paper.yaml must not stop judge and report.
    """
    workflow = shutil.copytree(WORKFLOW, tmp_path / "workflow")
    scale = workflow / "scales" / "paper.yaml"
    lines = scale.read_text().splitlines(keepends=True)
    scale.write_text("".join(line for line in lines if not line.startswith("  bert-tiny: ")))
    config = {"scale": "micro", "papers": {"simcse": ["table1"]}, "seeds": [0]}
    assert judge_study(compile_study(config, workflow), []).audit, "the other papers are audited"
    (line,) = re.findall(".*not audited: .*", caplog.text)
    assert "not audited: diffcse/" in line and "bert-tiny" in line and str(scale) in line
    further = audit_plan(workflow)
    found = audit(further)
    (lacking,) = [one for one in found if one.rule == NOT_AUDITED]
    assert "bert-tiny" in lacking.follows
    assert findings_on(found, lacking.cells[0], further)[-1] == lacking


def test_texts_of_a_paper_are_no_formulas_of_a_spreadsheet():
    """The text of a claim once was a formula in claims.csv, which a spreadsheet computes."""
    formulas = [
        "=1+1",
        "@SUM(A1)",
        "+cmd|' /C calc'!A0",
        "-2+3+cmd|' /C calc'!A0",
        "-1+HYPERLINK(A1)",
        "\t=1",
    ]
    texts = [
        "-3.25",
        "+.5",
        "-1.5e-07",
        "-0.1; 1.03",
        "+2.28, which is 78.18 minus 75.9",
        "a = b",
        "",
        None,
        -3.25,
    ]
    rows = [SimpleNamespace(line=lambda text=text: {"text": text}) for text in formulas + texts]
    judgements = SimpleNamespace(claims=rows, adjudication=[], audit=[])
    _, written = study.judged_tables(judgements, [])["claims"]
    expected = [f"'{formula}" for formula in formulas] + texts
    assert [row["text"] for row in written] == expected
