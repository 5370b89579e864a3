"""The content of a crate, which contains a study and everything it needs."""

import json
import zipfile
from pathlib import Path

import pytest
from places import ROOT

import replicse
from replicse.cli import main
from replicse.cli.crate import files_of
from replicse.compile.compiler import compile_study
from replicse.compile.paths import Paths
from replicse.files import write_json
from replicse.spec.config import read_config
from replicse.workspace import workflow_folder

METADATA = "ro-crate-metadata.json"


def packed(out, name="compact"):
    """Write the crate of a committed study, and return the exit code.

    Args:
        out: Path of the crate.
        name: Name of the study. Default: "compact".
    """
    return main(["keep", name, "--crate", str(out), "--workflow", str(ROOT / "workflow")])


def test_a_committed_study_is_packed_with_its_papers_and_scale(tmp_path):
    out = tmp_path / "compact.zip"
    assert packed(out) == 0
    names = {*zipfile.ZipFile(out).namelist()}
    study = {
        f"reports/studies/compact/{name}" for name in ("config.json", "cells.csv", "items/simcse/table3.json")
    }
    assert (
        study | {"workflow/papers/simcse/reported.csv", "workflow/scales/compact.yaml", "Snakefile"} < names
    )
    document = json.loads(zipfile.ZipFile(out).read(METADATA))
    described = {each["@id"]: each for each in document["@graph"]}
    assert described["./"]["mainEntity"] == {"@id": "Snakefile"}
    assert len(described["workflow/papers/simcse/reported.csv"]["sha256"]) == 64
    committed, crate = replicse.load(ROOT / "reports/studies/compact"), replicse.load(out)
    assert crate.values.equals(committed.values) and crate.cells.equals(committed.cells)
    out.write_bytes(b"PK" + bytes(99))
    with pytest.raises(
        replicse.BadInput, match=r"compact.zip: not a crate .*; write it with replicse keep NAME"
    ):
        replicse.load(out)


def test_a_crate_has_what_a_study_of_a_workspace_is_made_from(tmp_path, monkeypatch):
    """A crate contains parent recipes and base scales.

    The paper of the parent recipe and the base scale were once missing.
    """
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == main(["init", "paper", "mine"]) == main(["init", "term", "my-loss"]) == 0
    Path("scales").mkdir()
    Path("scales/tiny.yaml").write_text("{extends: micro, name: tiny, title: Tiny}")
    Path("hub.lock.yaml").write_text("models: {}")
    Path("papers/mine/corpora.yaml").write_text(
        "corpora: {own: {format: table, file: own.csv, text: sentence}}"
    )
    plan = compile_study(
        read_config([Path("config.yaml")]) | {"scale": "tiny", "papers": ["mine"]}, ROOT / "workflow"
    )
    files = {place: file for file, place in files_of("mine", Paths("tiny", "mine"), plan)}
    own = {"papers/mine/corpora.yaml", "plugins/my_loss.py", "scales/tiny.yaml"}
    assert own | {"workflow/papers/simcse/recipes.yaml", "workflow/scales/micro.yaml"} < files.keys()
    assert files["hub.lock.yaml"] == Path("hub.lock.yaml")
    for name in ("papers/mine/.env", "papers/mine/.git/config", "scales/.tiny.yaml.swp"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("secret")
    assert {place: file for file, place in files_of("mine", Paths("tiny", "mine"), plan)} == files
    for name in ("papers/mine/notes.md", "hub.lock.yaml"):
        Path(name).unlink(missing_ok=True)
        Path(name).symlink_to(tmp_path / "papers/mine/.env")
        with pytest.raises(replicse.BadInput, match=rf"{name}: a link; replace it with the file"):
            list(files_of("mine", Paths("tiny", "mine"), plan))
        Path(name).unlink()


def test_a_study_is_run_again_in_its_crate(workspace, tmp_path_factory, monkeypatch, capfd):
    """A crate should be enough to run the study again.

    A crate once contained the Snakefile without the rules, and packaged papers in the workspace.
    """
    assert main(["init", "paper", "mine"]) == 0
    Path("papers/mine/recipes.yaml").write_text(
        "unsup: {like: simcse/unsup, optimisation: {batch_size: 32}}\ncold: {like: unsup}\n"
    )
    config = {"scale": "micro", "papers": {"mine": ["table1"]}, "seeds": [0]}
    write_json(Path("reports/studies/mine/config.json"), config)
    write_json(Path("reports/studies/mine/record.json"), {"title": "Mine"})
    study = compile_study(config, workflow_folder())
    assert main(["keep", "mine", "--crate", "mine.zip"]) == 0
    crate = tmp_path_factory.mktemp("crate")
    with zipfile.ZipFile("mine.zip") as archive:
        archive.extractall(crate)
    monkeypatch.chdir(crate)
    assert workflow_folder() == Path("workflow")
    again = compile_study(read_config([Path("config.yaml")]), workflow_folder())
    assert dict(again.runs) == dict(study.runs) and len(study.runs) == 3
    assert {run.optimisation.batch_size for run in study.runs.values() if not run.init.fresh} == {32}
    capfd.readouterr()
    assert main(["run", "-n"]) == 0
    assert "12 jobs: prepare 4, train 3, evaluate 2" in capfd.readouterr().err


def test_a_crate_is_not_written_in_the_place_of_a_folder(tmp_path, capsys):
    """A crate does not replace a folder.

    The error once named a temporary file.
    """
    assert packed(tmp_path) == 2 and "specify a regular file" in capsys.readouterr().err


def test_the_nearest_study_is_named(tmp_path, capsys):
    assert packed(tmp_path / "x.zip", "compat") == 2
    assert 'the committed study "compat" does not exist; did you mean "compact"?' in capsys.readouterr().err
