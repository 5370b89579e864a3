"""Files beside the weights of an encoder are recorded and checked."""

import shutil
from itertools import product
from pathlib import Path

import pytest
from tiny_encoders import written

from replicse.encoder.folders import check_folder, record_folder
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput, MissingData


@pytest.mark.parametrize(
    ("change", "run", "problem"),
    [
        (
            Path.unlink,
            "one-run",
            "config.json: the file does not exist, but checkpoint.json lists it; copy all files of the folder",
        ),
        (lambda file: file.write_text("{}"), "one-run", r"the SHA-256 differs from checkpoint\.json"),
        (Path.stat, "other", "a checkpoint of run one-run, not of other"),
    ],
)
def test_what_is_not_as_it_was_recorded_is_refused(tmp_path, change, run, problem):
    written(tmp_path)
    record_folder(tmp_path, "one-run", "best")
    check_folder(tmp_path, "one-run")
    change(tmp_path / "config.json")
    with pytest.raises((BadInput, MissingData), match=problem):
        check_folder(tmp_path, run)
    (tmp_path / "checkpoint.json").unlink()
    check_folder(tmp_path, run)  # without a record, the folder is accepted


@pytest.fixture
def study(tmp_path):
    """Create two runs of a study, each with the checkpoints best and last."""
    runs = [tmp_path / f"infonce-s{seed}-{seed:012x}" for seed in range(2)]
    for run, name in product(runs, ("best", "last")):
        run.mkdir(exist_ok=True)
        written(run / name)
        record_folder(run / name, run.name, name)
        open_backbone(run / name)
    return runs


def test_a_folder_of_a_study_is_of_the_run_and_the_checkpoint_that_it_is_named_by(study):
    """A study's folder must contain the run and checkpoint in its path.

    Here checkpoints are copied over each other, runs exchanged, and a checkpoint is replaced by a downloaded
    encoder.
    """
    zero, one = study
    shutil.copytree(zero / "last", zero / "best", dirs_exist_ok=True)
    with pytest.raises(BadInput, match=f"{zero.name}/best: is checkpoint last of the run, not best; delete"):
        open_backbone(zero / "best")
    zero.rename(zero.with_name("aside"))
    one.rename(zero)
    with pytest.raises(BadInput, match=f"a checkpoint of run {one.name}, not of {zero.name}; delete"):
        open_backbone(zero / "last")
    (zero / "last" / "checkpoint.json").unlink()
    with pytest.raises(MissingData, match=rf"checkpoint\.json of run {zero.name} does not exist"):
        open_backbone(zero / "last")


def test_an_adapter_is_not_passed_over_where_its_encoder_becomes_another(tmp_path):
    written(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(BadInput, match="adapter"):
        open_backbone(tmp_path, changes={"model_type": "roberta"})
