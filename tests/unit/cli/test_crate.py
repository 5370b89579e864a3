"""Studies as crates: what goes in."""

import json
import zipfile
from pathlib import Path

from places import ROOT

from replicse.cli import main
from replicse.cli.crate import files_of
from replicse.compile.compiler import compile_study
from replicse.compile.paths import Paths
from replicse.spec.config import read_config

METADATA = "ro-crate-metadata.json"


def packed(out, name="compact"):
    """Write the crate of a committed study and return the exit code."""
    return main(["keep", name, "--crate", str(out), "--workflow", str(ROOT / "workflow")])


def test_a_committed_study_is_packed_with_its_papers_and_scale(tmp_path):
    out = tmp_path / "compact.zip"
    assert packed(out) == 0
    names = {*zipfile.ZipFile(out).namelist()}
    study = {
        f"reports/studies/compact/{name}" for name in ("config.json", "cells.csv", "items/simcse/table3.json")
    }
    assert study | {"papers/simcse/reported.csv", "scales/compact.yaml", "Snakefile"} < names
    document = json.loads(zipfile.ZipFile(out).read(METADATA))
    described = {each["@id"]: each for each in document["@graph"]}
    assert described["./"]["mainEntity"] == {"@id": "Snakefile"}
    assert len(described["papers/simcse/reported.csv"]["sha256"]) == 64


def test_a_crate_has_what_a_study_of_a_workspace_is_made_from(tmp_path, monkeypatch):
    """The paper whose recipe is taken over and the scale that is extended were left out."""
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
    assert own | {"papers/simcse/recipes.yaml", "scales/micro.yaml"} < files.keys()
    assert files["hub.lock.yaml"] == Path("hub.lock.yaml")


def test_a_crate_is_not_written_in_the_place_of_a_folder(tmp_path, capsys):
    """The sentence named a temporary file."""
    assert packed(tmp_path) == 2 and "name a file to write" in capsys.readouterr().err


def test_the_nearest_study_is_named(tmp_path, capsys):
    assert packed(tmp_path / "x.zip", "compat") == 2
    assert 'no committed study is named "compat"; did you mean "compact"?' in capsys.readouterr().err
