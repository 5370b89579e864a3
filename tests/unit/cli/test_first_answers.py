"""Answers of verbs before they compute anything: missing files, missing settings, costs."""

import pytest

from replicse.cli import main


@pytest.mark.parametrize(
    ("data", "error"),
    [("absent", "the folder does not exist"), ("empty", "does not contain a folder SentEval")],
)
def test_evaluate_checks_the_data_before_it_loads_the_encoder(tmp_path, capsys, data, error):
    """Name the missing dataset and not the missing encoder, which would be loaded afterwards.

    Loading a large encoder took 136 seconds before "no SentEval there" was printed.
    """
    (tmp_path / "empty").mkdir()
    words = ["--encoder", str(tmp_path / "no-encoder"), "--suite", "sts", "--data", str(tmp_path / data)]
    assert main(["evaluate", *words, "--out", str(tmp_path / "scores.json")]) == 2
    told = capsys.readouterr().err
    assert error in told and "no-encoder" not in told
    assert not (tmp_path / "scores.json").exists()


def test_the_released_encoders_have_a_plan(capsys):
    assert main(["plan", "released", "--scale", "paper"]) == 0
    told = capsys.readouterr().out
    assert "only released encoders" in told and "next: replicse run released --scale paper" in told


def test_a_scale_of_local_data_without_a_folder_says_what_to_set(capsys, monkeypatch):
    monkeypatch.delenv("REPLICSE_DATA", raising=False)
    assert main(["plan", "simcse/table3", "--scale", "compact"]) == 0
    told = capsys.readouterr()
    words = " ".join((told.out + told.err).split())
    assert "not-named" not in words
    assert "set data.root in config.yaml, or REPLICSE_DATA, to the folder" in words
