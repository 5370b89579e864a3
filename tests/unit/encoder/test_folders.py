"""What stands beside an encoder's weights: recorded and checked."""

import json
import shutil
from itertools import product

import pytest
from micro import tokenizer_file
from tiny_encoders import tiny

from replicse.encoder.folders import check_folder, record_folder
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput, MissingData

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")


@pytest.fixture
def run(tmp_path):
    for name in ("best", "last"):
        folder = tmp_path / "run" / name
        folder.mkdir(parents=True)
        for file in FILES:
            (folder / file).write_text(f"content of {file}")
        (folder / "model.safetensors").write_text("the same weights")
        record_folder(folder, "one-run", name)
    return tmp_path / "run"


def test_a_lost_file_is_told(run):
    (run / "best" / "config.json").unlink()
    with pytest.raises(
        MissingData,
        match=r"best/config.json: no such file, but checkpoint.json names it; copy all of the folder",
    ):
        check_folder(run / "best", "one-run")


def test_a_changed_file_is_told_and_kept(run):
    (run / "best" / "config.json").write_text("changed")
    with pytest.raises(BadInput, match=r"another sha256 than checkpoint\.json says"):
        check_folder(run / "best", "one-run")
    assert (run / "best" / "config.json").read_text() == "changed"


def test_a_folder_of_another_run_is_refused(run):
    with pytest.raises(BadInput, match="a checkpoint of run one-run, not of other"):
        check_folder(run / "best", "other")


def test_a_folder_without_a_record_is_taken_as_it_is(run):
    record = run / "best" / "checkpoint.json"
    assert json.loads(record.read_text())["run"] == "one-run"
    record.unlink()
    (run / "best" / "config.json").unlink()
    check_folder(run / "best")


@pytest.fixture
def study(tmp_path):
    """Return two runs of a study by seed, with a best and a last checkpoint each."""
    tokenizer = tokenizer_file(tmp_path)
    runs = [tmp_path / f"infonce-s{seed}-{seed:012x}" for seed in range(2)]
    for run, name in product(runs, ("best", "last")):
        tiny().save(run / name, None, tokenizer)
        record_folder(run / name, run.name, name)
        open_backbone(run / name)
    return runs


def test_a_folder_of_a_study_is_of_the_run_and_the_checkpoint_that_it_is_named_by(study):
    """Whoever opens it: here the folders are exchanged, one is copied over the other, and a download put there."""
    zero, one = study
    shutil.copytree(zero / "last", zero / "best", dirs_exist_ok=True)
    with pytest.raises(BadInput, match=f"{zero.name}/best: the checkpoint last of its run, not best; delete"):
        open_backbone(zero / "best")
    zero.rename(zero.with_name("aside"))
    one.rename(zero)
    with pytest.raises(BadInput, match=f"a checkpoint of run {one.name}, not of {zero.name}; delete"):
        open_backbone(zero / "last")
    (zero / "last" / "checkpoint.json").unlink()
    with pytest.raises(MissingData, match=rf"no checkpoint\.json, so not a checkpoint of run {zero.name}"):
        open_backbone(zero / "last")
