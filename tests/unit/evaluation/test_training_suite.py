"""What a run's record says of its training, and what is said where it says nothing."""

import json

from replicse.evaluation.training import evaluate

RECORD = {"seconds": 7200.0, "steps": 50, "sentences_per_second": 64.0, "parameters": 220_000_000}


def run_folder(folder, **record):
    (folder / "metrics.json").write_text(json.dumps(record))
    return str(folder / "best")


def test_numbers_are_those_of_the_record(tmp_path):
    assert evaluate(tmp_path, None, run_folder(tmp_path, **RECORD, rows=3)) == {
        "hours": 2.0,
        "steps": 50,
        "sentences_per_second": 64.0,
        "parameters": 220_000_000,
    }


def test_a_record_without_the_count_says_how_to_get_it(tmp_path):
    old = {key: value for key, value in RECORD.items() if key != "parameters"}
    found = evaluate(tmp_path, None, run_folder(tmp_path, **old))
    assert (found["parameters"], found["hours"]) == (None, 2.0)
    assert list(found["failures"]) == ["parameters"]
    assert "delete its folder to train the run again" in found["failures"]["parameters"]


def test_an_encoder_that_no_run_made_has_no_numbers(tmp_path):
    for folder in ("", str(tmp_path / "backbone")):
        found = evaluate(tmp_path, None, folder)
        assert set(found.pop("failures")) == set(found) == set(RECORD) - {"seconds"} | {"hours"}
        assert set(found.values()) == {None}
