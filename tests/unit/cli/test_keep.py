"""Kept and packed files of a study.

Only files of the study's config, runs and evaluations are included.
"""

import os
import shutil
from pathlib import Path

import pytest
from made_up import write_scores
from places import ROOT

from replicse.cli import main
from replicse.cli.keep import made_facts, refuse_uncommitted
from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import plan_item
from replicse.errors import BadInput
from replicse.files import read_json, write_json
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.origins import records_of
from replicse.judge.verdicts.tabulate import item_result
from replicse.registry.artefacts import PROVENANCE

WORKFLOW = ["--workflow", str(ROOT / "workflow")]
CONFIG = {"scale": "micro", "papers": {"simcse": ["table3"]}, "seeds": [0, 1]}
MADE = {"commit": "a" * 40, "dirty": False, "package_sha256": "b" * 64}
ITEM = Path("results/micro/items/simcse/table3.json")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Create a finished study of an item at a single commit; return the plan."""
    monkeypatch.chdir(tmp_path)
    made = {"commit": "d" * 40, "dirty": False, "package_sha256": "e" * 64}
    monkeypatch.setattr("replicse.provenance.record.software", lambda: made)
    plan = compile_study(CONFIG, ROOT / "workflow")
    write_scores(plan, ["simcse/table3"], lambda cell, place: 50.0 + place)
    for file in Path("results").glob("**/encoders/*/*.json"):
        write_json(file, {**read_json(file), "provenance": MADE})
    for run, spec in plan.runs.items():
        record = {**MADE, "job": {"run": spec.canonical()}}
        write_json(plan.paths.run(run, PROVENANCE), record)
    result = item_result(plan_item(plan, plan.items["simcse/table3"]), Measurements(plan))
    write_json(ITEM, result.plain())
    write_json(plan.paths.data, {"files": []})
    write_json(plan.paths.config, plan.config.whole())
    return plan


def results_of(plan):
    return [item_result(plan_item(plan, item), Measurements(plan)) for item in plan.items.values()]


def records(plan):
    return records_of(results_of(plan), Path(plan.paths.results))


def kept(*words):
    return main(["keep", "again", *words, *WORKFLOW])


def test_a_study_is_kept_at_the_commit_of_its_runs(study):
    refuse_uncommitted(*records(study), study.paths)
    facts = made_facts(study, *records(study))
    assert {key: facts[key] for key in MADE} == MADE


def test_changes_that_were_in_no_commit_stay_marked(study):
    """A study should stay marked if a run had uncommitted changes.

    A study was once marked clean if the tree was clean again when the study was packed.
    """
    run = next(iter(study.runs))
    file = study.paths.run(run, PROVENANCE)
    write_json(file, {**read_json(file), "dirty": True})
    assert made_facts(study, *records(study))["dirty"]
    with pytest.raises(
        BadInput, match=f"computed with uncommitted changes.*delete results/micro/runs/{run} and"
    ):
        refuse_uncommitted(*records(study), study.paths)
    evaluation = next(Path("results").glob("**/encoders/*/fast.json"))
    write_json(evaluation, {**read_json(evaluation), "provenance": {**MADE, "dirty": True}})
    write_json(file, {**read_json(file), "dirty": False})
    assert made_facts(study, *records(study))["dirty"]


def test_the_runs_of_a_search_and_frozen_models_are_asked_too(study):
    """Runs of a search, and frozen models, should be checked for changes, too.

    A cell of several encoders does not name a run, and a run only names teachers in the job.
    """
    result = results_of(study)[0]
    run = next(each.run for each in result.cells[0].values)
    searched = [each.model_copy(update={"run": ""}) for each in result.cells[0].values]
    cell = result.cells[0].model_copy(update={"values": searched})
    teacher = {"objective": [{"teachers": [{"folder": "results/micro/runs/teacher-s0/best"}]}]}
    write_json(study.paths.run(run, PROVENANCE), {**MADE, "job": {"run": teacher}})
    for file in Path("results/micro/encoders").glob(f"{run}-*/*.json"):
        write_json(file, {**read_json(file), "encoder": f"results/micro/runs/{run}/best"})
    runs, _ = records_of([result.model_copy(update={"cells": (cell,)})], Path("results/micro"))
    assert runs[run] and runs["teacher-s0"] == {}
    with pytest.raises(
        BadInput, match=r"runs/teacher-s0/provenance\.json: the record of the code is missing"
    ):
        refuse_uncommitted(runs, {}, study.paths)


def test_a_study_of_another_folder_is_not_read_with_the_results_of_this_one(study, tmp_path, capsys):
    """Results of this folder should not be used for a study of another folder.

    `show --study OTHER/results/micro/config.json` once showed the scores of the current folder.
    """
    other = tmp_path / "other/results/micro/config.json"
    other.parent.mkdir(parents=True)
    shutil.copy(study.paths.config, other)
    shutil.copy(study.paths.data, other.parent)
    for words in (["show", "simcse/table3"], ["status"], ["keep", "again"]):
        assert main([*words, "--study", str(other), *WORKFLOW]) == 2
        assert "not results/micro/config.json of this folder" in capsys.readouterr().err
    assert main(["show", "simcse/table3", "--study", study.paths.config, *WORKFLOW]) == 0


@pytest.mark.parametrize("verb", [["keep", "again"], ["report"]])
@pytest.mark.parametrize("words", [["--seeds", "1"], ["--config", "seeds=[0]"]])
def test_a_study_of_other_seeds_is_not_written_over_the_one_that_was_run(study, capsys, verb, words):
    """A study with other seeds should not overwrite a kept study.

    After a run of three seeds, `keep` once replaced 18 rows by 6 rows, with the seeds of config.yaml.
    """
    Path("config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0]\n")
    assert main([*verb, *words, *WORKFLOW]) == 2
    error = capsys.readouterr().err
    assert "the study was run with seeds [0, 1], not [0]; remove --config and --seeds" in error
    assert not Path("reports").exists()


def test_a_study_is_kept_with_the_seeds_of_its_run_and_replaced_on_request(study, capsys):
    Path("config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0]\n")
    write_json("reports/studies/again/config.json", study.config.plain())
    assert kept() == 2
    assert "add --replace to overwrite it" in capsys.readouterr().err
    assert kept("--replace") == 0
    assert "kept reports/studies/again: 1 item, 8 cells, seeds 0, 1\n" in capsys.readouterr().out
    assert read_json("reports/studies/again/config.json")["seeds"] == [0, 1]


def test_a_killed_replacement_leaves_no_new_numbers_under_the_old_config(study, monkeypatch):
    Path("config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0, 1]\n")
    assert kept() == 0
    with monkeypatch.context() as patched:
        patched.setattr("replicse.cli.keep.write_ordered", lambda *_: os._exit(9))
        child = os.fork()
        if not child:
            kept("--replace")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    folder = Path("reports/studies/again")
    assert (folder / "items/simcse/table3.json").is_file() and not (folder / "config.json").exists()
    assert kept() == 0 and read_json(folder / "config.json")["seeds"] == [0, 1]
