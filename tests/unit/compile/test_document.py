"""A kept study: read back as it was compiled, from any folder, and compiled again for other inputs."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path

import pytest
from planned import WORKFLOW, shipped_plan

from replicse import cli
from replicse.compile import compiler, document
from replicse.compile.document import KEPT, Built, read_study, study_of, write_study
from replicse.registry.plugins import use_plugins

CONFIG = {"scale": "micro", "papers": {"simcse": ["table3", "figure2"], "rankcse": "all"}, "seeds": [0, 1]}
PLUGIN = "from replicse.registry.terms import Term\n"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace with a workflow, of which a test may change a file."""
    for name in ("papers", "scales", "datasets.yaml", "hub.lock.yaml"):
        source = WORKFLOW / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / "workflow" / name)
    (tmp_path / "workflow" / "rules").mkdir()
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "config.yaml").write_text(json.dumps({**CONFIG, "adjudicate": [], "plugins": ["mine.py"]}))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    use_plugins(())


@pytest.fixture
def compiled(monkeypatch):
    """The list of the configs that are compiled, not read."""
    calls, compile_study = [], compiler.compile_study

    def noted(config, *others, **more):
        calls.append(config)
        return compile_study(config, *others, **more)

    monkeypatch.setattr(compiler, "compile_study", noted)
    return calls


@pytest.mark.parametrize("scale", ["micro", "paper"])
def test_what_is_read_is_what_was_compiled(scale, tmp_path):
    study = shipped_plan(scale=scale, papers="all", seeds=[0, 1], adjudicate=["repro/table4"])
    write_study(study, tmp_path / "study", jobs=True)
    read = read_study(tmp_path / "study", study.config, study.workflow)
    for part in dataclasses.fields(study):
        ours, theirs = (getattr(each, part.name) for each in (read, study))
        if part.name not in ("papers", "unplanned"):  # claims hold expressions, of which each is its own
            assert (dict(ours) if isinstance(ours, Built) else ours) == theirs, part.name
        assert not any(isinstance(each, MutableMapping | list | set) for each in (ours, theirs)), part.name
    for key, paper in study.papers.items():
        assert all(dict(paper.items) == dict(each.items) for each in (paper, read.papers[key]))
        assert read.papers[key].reported == paper.reported and read.papers[key].folder == paper.folder
    assert json.dumps(read.estimates) == json.dumps(study.estimates)
    assert read.depends == study.depends
    for key, job in study.jobs.items():
        names = ("inputs", "outputs", "log", "payload", "code", "files", "texts")
        assert all(getattr(read.jobs[key], name) == getattr(job, name) for name in names), key


def test_a_workspace_that_is_moved_reads_its_study_with_its_own_paths(workspace, compiled, monkeypatch):
    (workspace / "config.yaml").write_text(json.dumps(CONFIG))
    study_of(CONFIG, Path("workflow").absolute(), of_workflow=True)
    other = shutil.copytree(workspace, workspace / "elsewhere", ignore=lambda *_: ["elsewhere"])
    monkeypatch.chdir(other)
    study = study_of(CONFIG, Path("workflow"))
    paths = study.workflow, study.papers["simcse"].folder, Path(study.items["simcse/table3"].file)
    assert len(compiled) == 1 and all(path.parts[0] == "workflow" for path in paths)


def test_equal_inputs_give_equal_jobs_in_any_process(workspace):
    code = (
        "import hashlib; from pathlib import Path; from replicse.compile.compiler import compile_study;"
        f"jobs = compile_study({CONFIG}, Path('workflow')).jobs;"
        "print(hashlib.sha256(repr([(*k, j.inputs, j.payload, j.named) for k, j in jobs.items()]).encode()).digest())"
    )
    seeds = ({**os.environ, "PYTHONHASHSEED": seed} for seed in "12")
    first, second = (subprocess.check_output([sys.executable, "-c", code], env=each) for each in seeds)
    assert first == second


def added(name, line):
    file = Path(name)
    file.write_text(file.read_text(encoding="utf-8") + line, encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda _: added("workflow/papers/simcse/tables/table3.yaml", "# a remark\n"),
        lambda _: added("workflow/papers/simcse/deviations.md", "\n"),
        lambda _: added("workflow/scales/micro.yaml", "# a remark\n"),
        lambda _: added("workflow/hub.lock.yaml", "# a remark\n"),
        lambda _: added("mine.py", "# a remark\n"),
        lambda _: shutil.copy("workflow/hub.lock.yaml", "hub.lock.yaml"),
        lambda patch: patch.setattr(document, "package_sha256", lambda: "other code"),
    ],
    ids=["paper", "text", "scale", "lock", "plug-in", "workspace", "code"],
)
def test_a_change_of_an_input_is_compiled_again(workspace, compiled, monkeypatch, change):
    for _ in range(2):
        study_of(CONFIG, Path("workflow"))
    assert len(compiled) == 1
    change(monkeypatch)
    study_of(CONFIG, Path("workflow"))
    study_of({**CONFIG, "seeds": [0]}, Path("workflow"))
    assert len(compiled) == 3


@pytest.mark.parametrize("spoil", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"{}"])
def test_a_broken_study_is_compiled_again(workspace, compiled, spoil):
    study_of(CONFIG, Path("workflow"), of_workflow=True)
    (kept,) = KEPT.iterdir()
    kept.write_bytes(spoil(kept.read_bytes()))
    study_of(CONFIG, Path("workflow"), of_workflow=True)
    study_of(CONFIG, Path("workflow"))
    assert len(compiled) == 2


def test_an_encoder_of_ones_own_is_looked_at_again(workspace, compiled):
    own = {**CONFIG, "rows": {"simcse/table3": {"mine": {"folder": "./encoder"}}}}
    (workspace / "encoder").mkdir()
    study_of(own, Path("workflow"))
    (workspace / "encoder" / "config.json").touch()
    study = study_of(own, Path("workflow"))
    (job,) = (job for job in study.jobs.values() if job.stage == "backbone")
    assert len(compiled) == 2 and "encoder/config.json" in job.inputs


def test_verbs_say_the_same_of_what_was_read(workspace, compiled, capsys):
    for words in (
        ["show", "simcse/table3"],
        ["plan"],
        ["claims", "rankcse"],
        ["status"],
        ["audit", "rankcse"],
    ):
        assert [cli.main(words) for _ in range(2)] == [0, 0]
        out = capsys.readouterr().out
        assert out[: len(out) // 2] == out[len(out) // 2 :], words
    assert len(compiled) == 3, "the item, the study, and that of the audit"


def test_an_item_is_compiled_alone_where_no_study_is_kept(workspace, compiled):
    assert [list(study_of(CONFIG, Path("workflow"), only="simcse/table3").items) for _ in range(2)] == [
        ["simcse/table3"]
    ] * 2
    study_of(CONFIG, Path("workflow"))
    assert len(compiled) == 2 and len(study_of(CONFIG, Path("workflow"), only="simcse/figure2").items) > 1
