"""Workspaces created by `init` and `new`: papers, scales and pins.

These replace the package's if they have the same name.
"""

import runpy
import shutil

import pytest
import yaml
from made_up import made_plan, write_paper
from places import ROOT

from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.compile.selection import load_scales
from replicse.judge.values.folder import committed
from replicse.registry.plugins import use_plugins
from replicse.registry.suites import is_metric
from replicse.spec.lock import load_lock
from replicse.spec.papers import load_papers
from replicse.workspace import packaged, workflow_folder

WORKFLOW = ROOT / "workflow"


def test_nothing_in_a_workspace_is_overwritten(workspace, capsys):
    assert {path.name for path in workspace.iterdir()} == {
        "README.md", "Snakefile", "config.yaml", ".github", ".gitignore",
    }  # fmt: skip
    assert workflow_folder() == packaged("workflow")
    (workspace / "README.md").write_text("mine")
    assert main(["init"]) == 2
    assert "README.md: exists already" in capsys.readouterr().err
    assert (workspace / "README.md").read_text() == "mine"
    (workspace / "config.yaml").unlink()
    assert main(["init", "paper", "mine"]) == 0
    assert "next: replicse init, replicse validate" in capsys.readouterr().out


def test_a_paper_that_was_begun_plans_and_borrows_from_the_packaged_ones(workspace, capsys):
    assert main(["init", "paper", "mine"]) == 0 and main(["init", "paper", "mine"]) == 2
    assert "next: replicse validate, then replicse run mine" in capsys.readouterr().out
    plan = compile_study({"scale": "micro", "papers": {"mine": "all"}, "seeds": [0]}, WORKFLOW)
    simcse = compile_study({"scale": "micro", "papers": {"simcse": ["table3"]}, "seeds": [0]}, WORKFLOW)
    assert plan.studied == ["mine"]
    assert set(plan.runs) & set(simcse.runs), "use: of a packaged recipe is the same run"
    assert main(["why", "mine/table1/unsup/avg"]) == 0
    assert "76.25" in capsys.readouterr().out
    assert main(["adjudicate", "mine/table1"]) == 0
    assert capsys.readouterr().out == "cannot find a variant of mine/table1 in papers/mine/protocols.yaml\n"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            lambda folder: (folder / "paper.yaml").rename(folder / "a.yml"),
            "exists, but paper.yaml does not; write paper.yaml",
        ),
        (
            lambda folder: (folder / "deviations.md").write_text("## general\n\nA.\n\n## tabel1\n\nB.\n"),
            'deviations.md: the heading names "tabel1"; did you mean "table1"?',
        ),
    ],
)
def test_a_paper_that_was_begun_and_spoilt_is_refused(workspace, capsys, spoil, told):
    assert main(["init", "paper", "mine"]) == 0
    spoil(workspace / "papers" / "mine")
    assert main(["validate"]) == 2
    assert told in capsys.readouterr().err


KINDS = ("term", "augmentation", "pooling", "suite")


def test_extensions_that_were_begun_are_named_in_config_and_hold_their_own_tests(workspace, capsys):
    for kind in KINDS:
        assert main(["init", kind, f"my-{kind}"]) == 0
        told = capsys.readouterr().out
        assert "to plugins in" not in told
        runpy.run_path(f"tests/test_my_{kind}.py")["test_by_hand"]()
    use_plugins(["plugins/my_suite.py"])
    assert is_metric(told.split("metric_path: ")[1].strip())
    text = (workspace / "config.yaml").read_text()
    assert yaml.safe_load(text)["plugins"] == [f"plugins/my_{kind}.py" for kind in KINDS]
    assert "  # your own terms, augmentations" in text and "\n# Your own datasets" in text
    recipe = {
        "init": {"backbone": "bert-base"},
        "corpus": "wiki",
        "views": [{"column": "text"}, {"column": "text", "augment": {"name": "my-augmentation"}}],
        "objective": [{"term": "my-term"}],
        "pooling": {"train": "my-pooling", "test": "my-pooling"},
    }
    column = {"id": "mean", "label": "Mean cosine", "metric": "cosine", "metric_path": "my-suite/mean_cosine"}
    table = {"columns": [column], "rows": [{"id": "own", "label": "Own", "encoder": {"use": "plain"}}]}
    write_paper(workspace / "made", "made", {"table1": table}, recipes={"plain": recipe})
    jobs = list_jobs(made_plan(workspace / "made", scale="micro", seeds=[0])).values()
    named = {job.stage: tuple(job.payload["plugin"]) for job in jobs if "plugin" in job.payload}
    files = {kind: f"plugins/my_{kind}.py" for kind in KINDS}
    assert named == {
        "store": (files["augmentation"],),
        "train": (files["augmentation"], files["pooling"], files["term"]),
        "evaluate": (files["pooling"], files["suite"]),
        "tabulate": (files["suite"],),
    }


def test_without_a_name_the_papers_of_the_folder_are_meant(workspace, capsys, monkeypatch):
    """By default, only the papers in the folder should be used.

    All 92 items of the package were once run.
    """
    assert main(["init", "paper", "mine"]) == 0
    capsys.readouterr()
    assert main(["plan"]) == 0
    assert "1 item, 6 cells" in capsys.readouterr().out
    for words in (["status"], ["status", "mine"]):
        assert main(words) == 0
        assert "0 of 3 evaluations" in (told := capsys.readouterr().out) and "simcse" not in told
    assert main(["report"]) == 1
    assert "1 of 1 item incomplete" in capsys.readouterr().out
    words = []
    monkeypatch.setattr("replicse.cli.run.exit_code", lambda line, *_: words.append(line) or 0)
    assert main(["run", "-n"]) == main(["run", "-n", "all"]) == main(["run", "-n", "mine/table1"]) == 0
    assert "only papers of this folder: mine; use replicse run all" in capsys.readouterr().err
    assert 'papers={"mine": "all"}' in words[0] and words[1][-1] == "all" and "--config" not in words[1]
    assert 'papers={"mine": "all"}' in words[2], (
        "the record of a named run is about the papers of the folder too"
    )


def test_a_key_of_the_command_line_may_have_dots_and_an_absent_root_is_told(workspace, capsys, monkeypatch):
    words = []
    monkeypatch.setattr("replicse.cli.run.exit_code", lambda line, *_: words.append(line) or 0)
    more = ["simcse/table3", "--config", "data.source=local", "--config", "data.root=gone"]
    assert main(["plan", *more]) == 0
    assert "data root gone does not exist" in capsys.readouterr().out
    assert main(["run", "-n", *more]) == 0 and "data={source: local, root: gone}" in words[0]
    assert "data root gone does not exist" in capsys.readouterr().err


def test_an_extension_that_cannot_be_begun(workspace, capsys):
    assert main(["init", "term", "mine"]) == 0 and main(["init", "suite", "mine"]) == 2
    assert "plugins/mine.py: exists already" in capsys.readouterr().err
    for file in ("plugins/mine.py", "tests/test_mine.py"):
        (workspace / file).rename(workspace / file.replace("mine", "ours"))
    (workspace / "config.yaml").write_text("plugins:\n- plugins/ours.py\n")
    assert main(["init", "term", "mine"]) == 2
    told = 'the term "mine" exists already; choose another name'
    assert told in capsys.readouterr().err and not (workspace / "plugins" / "mine.py").exists()
    (workspace / "plugins" / "ours.py").rename(workspace / "plugins" / "mine.py")
    (workspace / "config.yaml").write_text("plugins:\n- plugins/mine.py\n")
    assert main(["init", "term", "other"]) == 0
    told = "next: add plugins/other.py to plugins in config.yaml; pip install pytest, then"
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("paper", "Mine", '"Mine" is not a valid key of a paper; use only lower-case letters'),
        ("paper", "simcse", '"simcse" is a paper of the package; choose another key'),
        ("term", "class", '"class" is a keyword of Python'),
        ("term", "My_term", '"My_term" is not a valid name of a term; use lower-case letters'),
        ("term", "json", "plugins/json.py: a Python module json already exists"),
        ("term", "infonce", 'the term "infonce" exists already; choose another name'),
        ("augmentation", "crop", 'the augmentation "crop" exists already'),
        ("pooling", "cls", 'the pooling "cls" exists already'),
        ("suite", "sts", 'the suite "sts" exists already'),
        ("suite", "data", 'the suite "data" exists already'),
    ],
)
def test_nothing_is_begun_under_a_name_that_is_none_or_taken(workspace, capsys, kind, name, told):
    assert main(["init", kind, name]) == 2
    assert told in capsys.readouterr().err
    assert not any((workspace / name).exists() for name in ("papers", "plugins", "tests"))


def test_papers_scales_and_pins_of_the_workspace_come_first(workspace):
    shutil.copytree(WORKFLOW / "papers" / "repro", workspace / "papers" / "repro")
    about = workspace / "papers" / "repro" / "paper.yaml"
    about.write_text(about.read_text().replace("fp16", "bf16"))
    (workspace / "scales").mkdir()
    (workspace / "scales" / "tiny.yaml").write_text("{extends: micro, name: tiny, title: Tiny}")
    pinned = {"models": {"bert-base-uncased": {"commit": "0" * 40, "seen": "here"}}}
    (workspace / "hub.lock.yaml").write_text(yaml.safe_dump(pinned))
    papers = load_papers(WORKFLOW)
    assert papers["repro"].about.precision == "bf16" and "simcse" in papers
    assert load_scales(WORKFLOW).keys() == {"micro", "compact", "short", "minilm", "paper", "tiny"}
    plan = compile_study({"scale": "tiny", "papers": {"simcse": ["table3"]}, "seeds": [0]}, WORKFLOW)
    assert plan.scale.title == "Tiny" and plan.runs
    assert load_lock(WORKFLOW).revision("bert-base-uncased") == "0" * 40
    assert len(load_lock(WORKFLOW).models) > 1, "other pins stay those of the package"


def test_committed_studies_of_the_package_are_shown_in_any_folder(workspace, capsys):
    assert {"compact", "followups"} <= committed().keys()
    assert main(["show", "simcse/table3", "--study", "compact"]) == 0
    assert "82.5 → " in capsys.readouterr().out
