"""`replicse keep`: refusals, written files, and an identical second copy."""

import json
import shutil
from itertools import chain

import pytest
from golden import example_report as example
from made_up import write_scores
from planned import WORKFLOW, shipped_audit, shipped_plan
from read_once import papers_read_once
from verbs import run

from replicse.cli import keep as keep_verb
from replicse.cli import report as report_verb
from replicse.errors import BadInput
from replicse.files import read_json, write_json

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once"]


CLEAN = {"commit": "0123456789abcdef", "dirty": False}


def finish(plan, facts=CLEAN):
    """Write all records of runs and all evaluations of a study.

    By default, the records are of an unmodified checkout.
    """
    write_scores(plan, plan.items, lambda cell, place: 60 + 5 * (cell.row.id == "p0.1") + place)
    for name, spec in plan.runs.items():
        write_json(plan.paths.run(name, "provenance.json"), {**facts, "job": {"run": spec.canonical()}})
    write_json(plan.paths.data, {"root": "secret", "files": example.STUDY["data"]})
    for evaluated in set(chain.from_iterable(map(plan.evaluation_files, plan.items.values()))):
        write_json(evaluated, {**read_json(evaluated), "provenance": facts})


def test_items_are_added_to_a_committed_study(tmp_path, monkeypatch):
    """Add Table 1 to a kept Table 3 whose results are gone; another scale or seed is refused.

    The numbers of the first part stay, and the record lists the commit of each part.
    """
    monkeypatch.setattr("replicse.judge.report.judge_study.audit_plan", lambda *_, **__: shipped_audit()[0])
    monkeypatch.chdir(tmp_path)
    folder, words = tmp_path / "reports/studies/mine", ("--workflow", str(WORKFLOW))
    later = {"commit": "fedcba9876543210", "dirty": False}
    parts = [("table3", ["p0.0", "p0.1"], CLEAN), ("table1", ["none", "crop-20"], later)]
    for item, rows, facts in parts:
        config = {"scale": "compact", "papers": {"simcse": [item]}, "seeds": [0, 1, 2]}
        config["rows"] = {f"simcse/{item}": rows}
        (tmp_path / "config.json").write_text(json.dumps(config))
        monkeypatch.setattr("replicse.provenance.record.software", lambda facts=facts: facts)
        shutil.rmtree("results", ignore_errors=True)
        finish(shipped_plan(**config), facts)
        run(keep_verb, "mine", "--add", "--study", "config.json", *words)
    record, kept = read_json(folder / "record.json"), read_json(folder / "config.json")
    assert set(kept["papers"]["simcse"]) == {"table1", "table3"} and len(kept["rows"]) == 2
    assert [(part["items"], part["commit"]) for part in record["parts"]] == [
        (["simcse/table3"], "0123456789abcdef"),
        (["simcse/table1"], "fedcba9876543210"),
    ]
    assert "commit" not in record and not record["dirty"]
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "| simcse/table3 | 0123456789ab |" in report and "| simcse/table1 | fedcba987654 |" in report
    cells = (folder / "cells.csv").read_text(encoding="utf-8")
    assert "simcse,table3,p0.1,stsb-dev" in cells and "simcse,table1,crop-20,stsb-dev" in cells
    run(report_verb, "--study", "mine", *words)
    assert (folder / "report.md").read_text(encoding="utf-8") == report
    (tmp_path / "config.json").write_text(json.dumps({**config, "seeds": [0, 1]}))
    with pytest.raises(
        BadInput, match=r"config.json: seeds is \[0, 1, 2\], but the items to add have \[0, 1\]"
    ):
        run(keep_verb, "mine", "--add", "--study", "config.json", *words)


def test_a_committed_study_is_kept_with_all_it_is_written_from(tmp_path, monkeypatch):
    monkeypatch.setattr("replicse.judge.report.judge_study.audit_plan", lambda *_, **__: shipped_audit()[0])
    monkeypatch.chdir(tmp_path)
    asked = {"simcse/table3": ["p0.0", "p0.1"]}
    config = {"scale": "compact", "papers": {"simcse": ["table3"]}, "rows": asked, "crossed": asked}
    config["seeds"] = [0, 1, 2]
    (tmp_path / "config.json").write_text(json.dumps(config))
    plan, words = shipped_plan(**config), ("--workflow", str(WORKFLOW))
    keep = ("mine", "--study", "config.json", *words)
    with pytest.raises(
        BadInput, match=r"results/compact/encoders/.*the file does not exist; run the study to the end"
    ):
        run(keep_verb, *keep)
    finish(plan)
    monkeypatch.setattr("replicse.provenance.record.software", lambda: CLEAN)
    evaluated = next(chain.from_iterable(map(plan.evaluation_files, plan.items.values())))
    record = read_json(evaluated)
    write_json(evaluated, {**record, "provenance": {}})
    with pytest.raises(BadInput, match=f"{evaluated}: the record of the code is missing; delete it and run"):
        run(keep_verb, *keep)
    write_json(evaluated, {**record, "provenance": {**CLEAN, "dirty": True}})
    with pytest.raises(
        BadInput, match=f"{evaluated}: computed with uncommitted changes to commit 0123456789ab"
    ):
        run(keep_verb, *keep)
    write_json(evaluated, record)
    assert not (tmp_path / "reports").exists(), "nothing is written before it is known that all can be kept"
    run(keep_verb, *keep)
    shutil.rmtree("results")
    folder = tmp_path / "reports/studies/mine"
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "(../../../figures/studies/mine/simcse/table3.svg)" in report and "secret" not in report
    design = "3 backbones × 3 fine-tunings, mean {}; standard deviation 0.00 between backbones, {} between"
    assert design.format("66.00", "1.00") in report, "p0.1 is 65, 66 and 67 on each backbone"
    assert design.format("−5.00", "0.00") in report, "no dropout less it, on the same backbone and seed"
    for file in ("report.html", "claims.csv", "tables/simcse/table3.csv"):
        (folder / file).unlink()
    run(report_verb, "--study", "mine", *words)
    assert (folder / "report.md").read_text(encoding="utf-8") == report, "written again as it was"
    assert (folder / "claims.csv").is_file() and (folder / "tables/simcse/table3.csv").is_file()
