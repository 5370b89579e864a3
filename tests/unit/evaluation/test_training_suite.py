"""Facts about a training from metrics.json, and missing facts."""

import json

from replicse.evaluation.training import evaluate

RECORD = {"seconds": 7200.0, "steps": 50, "sentences_per_second": 64.0, "parameters": 220_000_000}
READ = {"history": [{"step": step, "dev": 60.0} for step in (10, 20, 30)], "best": {"step": 20, "dev": 70.0}}


def run_folder(folder, **record):
    (folder / "metrics.json").write_text(json.dumps(record))
    return str(folder / "best")


def test_numbers_are_those_of_the_record(tmp_path):
    found = evaluate(tmp_path, None, run_folder(tmp_path, **RECORD, **READ, rows=3))
    assert {"seconds": 7200.0, **found} == {**RECORD, "hours": 2.0, "evaluations": 3, "selected_at": 0.4}


def test_a_run_that_was_never_read_has_no_place_of_selection(tmp_path):
    found = evaluate(tmp_path, None, run_folder(tmp_path, **RECORD, history=[], best=None))
    assert (found["evaluations"], found["selected_at"], found["steps"]) == (0, None, 50)
    assert found["failures"] == {"selected_at": "the run was never evaluated on a development dataset"}


def test_an_encoder_that_no_run_made_has_no_numbers(tmp_path):
    for folder in ("", str(tmp_path / "backbone")):
        found = evaluate(tmp_path, None, folder)
        read = {"hours", "evaluations", "selected_at"}
        assert set(found.pop("failures")) == set(found) == set(RECORD) - {"seconds"} | read
        assert set(found.values()) == {None}
