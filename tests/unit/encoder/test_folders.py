"""What stands beside an encoder's weights: recorded and checked."""

import json

import pytest

from replicse.encoder.folders import check_folder, record_folder
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


def test_a_lost_file_is_told(run):
    (run / "best" / "config.json").unlink()
    with pytest.raises(
        MissingData,
        match=r"best/config.json: no such file, .* delete .*best to have a study make it again, or copy all of it",
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
