"""Studies as crates: what goes in, and that they follow their profile."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from places import ROOT

from replicse.cli import main

VALIDATOR = ROOT / "build" / "crates" / "bin" / "python"
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
    (action,) = (each for each in document["@graph"] if each["@type"] == "CreateAction")
    assert action["instrument"] == {"@id": "Snakefile"} and len(action["result"]) > 20
    assert {"@id": "papers/simcse/reported.csv"} in action["object"]


@pytest.mark.skipif(not VALIDATOR.exists(), reason="make crates installs the validator of RO-Crates")
def test_a_crate_follows_the_profile_of_workflow_runs(tmp_path):
    out = tmp_path / "compact.zip"
    assert packed(out) == 0
    script = Path(__file__).with_name("validated.py")
    done = subprocess.run([VALIDATOR, script, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_crate_is_not_written_in_the_place_of_a_folder(tmp_path, capsys):
    """The sentence named a temporary file."""
    assert packed(tmp_path) == 2 and "name a file to write" in capsys.readouterr().err


def test_the_nearest_study_is_named(tmp_path, capsys):
    assert packed(tmp_path / "x.zip", "compat") == 2
    assert 'no committed study is named "compat"; did you mean "compact"?' in capsys.readouterr().err
