"""What stands beside an encoder's weights: recorded, and put back from another checkpoint of the run."""

import json

import pytest

from replicse.encoder.folders import check_folder, record_folder, restore_run
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
        record_folder(folder, "one-run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", FILES)
def test_a_lost_file_is_put_back_from_another_checkpoint_of_the_run(run, name):
    (run / "best" / name).unlink()
    check_folder(run / "best", "one-run")
    assert (run / "best" / name).read_text() == f"content of {name}"


def test_all_of_a_run_are_put_back_before_anyone_reads_them(run):
    (run / "best" / "config.json").unlink()
    (run / "last" / "tokenizer.json").unlink()
    restore_run(run)
    for folder in ("best", "last"):
        assert {file.name for file in (run / folder).iterdir()} == {
            *FILES,
            "model.safetensors",
            "checkpoint.json",
        }


def test_weights_are_left_to_the_workflow(run):
    (run / "best" / "model.safetensors").unlink()
    restore_run(run)
    assert not (run / "best" / "model.safetensors").exists()


@pytest.mark.parametrize("other", ["lost", "changed", "of other content", "unrecorded"])
def test_what_no_other_checkpoint_holds_is_told(run, other):
    (run / "best" / "config.json").unlink()
    beside = run / "last" / "config.json"
    if other == "lost":
        beside.unlink()
    else:
        beside.write_text("changed")
    if other == "of other content":
        record_folder(run / "last", "one-run")
    if other == "unrecorded":
        (run / "last" / "checkpoint.json").write_text("[]")
    with pytest.raises(
        MissingData,
        match=r"best/config.json: no such file, .* delete .*best to have a study make it again, or copy all of it",
    ):
        check_folder(run / "best", "one-run")
    assert not (run / "best" / "config.json").exists()


def test_a_changed_file_is_told_and_kept(run):
    (run / "best" / "config.json").write_text("changed")
    with pytest.raises(BadInput, match=r"another sha256 than checkpoint\.json says"):
        check_folder(run / "best", "one-run")
    assert (run / "best" / "config.json").read_text() == "changed"


def test_a_folder_of_another_run_is_refused(run):
    with pytest.raises(BadInput, match="a checkpoint of run one-run, not of other"):
        check_folder(run / "best", "other")


def test_a_folder_without_a_record_is_taken_as_it_is_and_its_neighbours_are_left_alone(run):
    record = run / "best" / "checkpoint.json"
    assert json.loads(record.read_text())["run"] == "one-run"
    record.unlink()
    (run / "last" / "config.json").unlink()
    check_folder(run / "best")
    assert not (run / "last" / "config.json").exists()
