"""A folder of one's own: what init and new write, and that its papers, scales and pins come before the package's."""

import shutil

import pytest
import yaml
from places import ROOT

from replicse.cli import main
from replicse.study.paper.lock import load_lock
from replicse.study.paper.papers import load_papers
from replicse.study.plan.choose import load_scales
from replicse.study.plan.planner import load_plan
from replicse.study.results.folder import committed
from replicse.workspace import packaged, workflow_folder

WORKFLOW = ROOT / "workflow"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.delenv("REPLICSE_WORKFLOW", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    return tmp_path


def test_a_workspace_validates_and_nothing_in_it_is_overwritten(workspace, capsys):
    assert {path.name for path in workspace.iterdir()} == {
        "README.md", "Snakefile", "config.yaml", ".github", ".gitignore",
    }  # fmt: skip
    assert workflow_folder() == packaged("workflow")
    assert main(["validate"]) == 0
    (workspace / "README.md").write_text("mine")
    assert main(["init"]) == 2
    assert "README.md: is there already" in capsys.readouterr().err
    assert (workspace / "README.md").read_text() == "mine"


def test_a_paper_that_was_begun_plans_and_borrows_from_the_packaged_ones(workspace, capsys):
    assert main(["new", "paper", "Mine"]) == 2
    assert '"Mine" is no key of a paper' in capsys.readouterr().err
    assert main(["new", "paper", "mine"]) == 0 and main(["new", "paper", "mine"]) == 2
    assert main(["validate"]) == 0
    plan = load_plan({"scale": "micro", "papers": {"mine": "all"}, "seeds": [0]}, WORKFLOW)
    simcse = load_plan({"scale": "micro", "papers": {"simcse": ["table3"]}, "seeds": [0]}, WORKFLOW)
    assert plan.studied == ["mine"]
    assert set(plan.runs) & set(simcse.runs), "use: of a packaged recipe is the same run"
    assert main(["why", "mine/table1/unsup/avg"]) == 0
    assert "76.25" in capsys.readouterr().out


def test_papers_scales_and_pins_of_the_workspace_come_first(workspace):
    shutil.copytree(WORKFLOW / "papers" / "simple", workspace / "papers" / "simple")
    about = workspace / "papers" / "simple" / "paper.yaml"
    about.write_text(about.read_text().replace("fp32", "bf16"))
    (workspace / "scales").mkdir()
    (workspace / "scales" / "tiny.yaml").write_text(
        yaml.safe_dump({"extends": "micro", "name": "tiny", "title": "Tiny"})
    )
    sentence = {"commit": "0" * 40, "seen": "here"}
    (workspace / "hub.lock.yaml").write_text(yaml.safe_dump({"models": {"bert-base-uncased": sentence}}))
    papers = load_papers(WORKFLOW)
    assert papers["simple"].about.precision == "bf16" and "simcse" in papers
    assert load_scales(WORKFLOW).keys() == {"micro", "compact", "stronger", "paper", "tiny"}
    plan = load_plan({"scale": "tiny", "papers": {"simcse": ["table3"]}, "seeds": [0]}, WORKFLOW)
    assert plan.scale.title == "Tiny" and plan.runs
    assert load_lock(WORKFLOW).revision("bert-base-uncased") == "0" * 40
    assert len(load_lock(WORKFLOW).models) > 1, "other pins stay those of the package"


def test_committed_studies_of_the_package_are_shown_in_any_folder(workspace, capsys):
    assert {"compact", "stronger"} <= committed().keys()
    assert main(["show", "simcse/table3", "--study", "compact"]) == 0
    assert "82.5 → " in capsys.readouterr().out
