"""`replicse keep`: refusals, written files, and an identical second copy."""

import json
import shutil

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
    write_scores(plan, plan.items, lambda cell, place: 60 + 5 * (cell.row.id == "p0.1") + place)
    clean = {"commit": "0123456789abcdef", "dirty": False}
    for name, spec in plan.runs.items():
        write_json(plan.paths.run(name, "provenance.json"), {**clean, "job": {"run": spec.canonical()}})
    write_json(plan.paths.data, {"root": "secret", "files": example.STUDY["data"]})
    monkeypatch.setattr("replicse.provenance.record.software", lambda: clean)
    for evaluated in {file for item in plan.items.values() for file in plan.evaluation_files(item)}:
        record = {**read_json(evaluated), "provenance": clean}
        write_json(evaluated, record)
    write_json(evaluated, {**record, "provenance": {}})
    with pytest.raises(BadInput, match=f"{evaluated}: the record of the code is missing; delete it and run"):
        run(keep_verb, *keep)
    write_json(evaluated, {**record, "provenance": {**clean, "dirty": True}})
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
