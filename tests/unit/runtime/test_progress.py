"""Progress of a job: a terminal line, log lines and a heartbeat."""

import io
import os
import sys

import pytest
from until import until

from replicse.cli import main
from replicse.errors import Failed
from replicse.runtime import progress


@pytest.fixture
def job_log(tmp_path, monkeypatch):
    """Redirect the output to a log, as in a job; yield the path."""
    path = tmp_path / "train" / "run-s0.1.log"
    path.parent.mkdir()
    with path.open("w") as stream:
        monkeypatch.setattr(sys, "__stdout__", stream)
        yield path


def test_a_job_has_a_heartbeat_while_it_lives(job_log, monkeypatch):
    monkeypatch.setattr(progress, "BEAT", 0.01)
    file = progress.heartbeat_of(job_log)
    assert file.name == "run-s0.1.running"
    with pytest.raises(Failed), progress.heartbeat():
        until(lambda: progress.alive(job_log))
        assert progress.alive(job_log)["pid"] == os.getpid()
        assert progress.progress_text(progress.alive(job_log)) == ""
        progress.Progress().tell(step=3, steps=12, loss=0.25, rate=1234.5, left=100.0)
        written = file.stat().st_mtime_ns
        until(lambda: file.stat().st_mtime_ns > written)
        told = progress.progress_text(progress.alive(job_log))
        assert told == "step 3 of 12, loss 0.25, 1,234 sentences/s, 2 min left"
        raise Failed("a job that fails leaves no heartbeat either")
    assert not file.exists() and progress.alive(job_log) is None


def test_every_verb_of_a_job_has_one_and_what_is_no_job_has_none(job_log, tmp_path, monkeypatch):
    seen = []

    def action(arguments):
        until(lambda: progress.alive(job_log))
        seen.append(True)

    monkeypatch.setattr("replicse.cli.job.add_arguments", lambda parser: None)
    monkeypatch.setattr("replicse.cli.job.run", action)
    assert main(["job"]) == 0 and seen == [True]
    with (tmp_path / "plan.txt").open("w") as stream:
        monkeypatch.setattr(sys, "__stdout__", stream)
        with progress.heartbeat():
            pass
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["plan.txt", job_log.name]


def test_a_terminal_gets_one_live_line(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    told = progress.Progress()
    for step in (1, 2):
        told.tell(step=step, steps=2, loss=0.5, rate=100.0, left=2.0 - step)
    first, second = terminal.getvalue().split("\r")
    assert "step 1 of 2" in first and second.endswith("step 2 of 2, loss 0.5, 100 sentences/s, 0 s left\n")
    assert terminal.getvalue().count("\n") == 1


def test_an_encoding_shows_its_part_and_the_time_left_on_a_terminal(monkeypatch):
    clock = iter([0.0, 1.0, 10.0, 20.0])

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    batches = [[[1]], [[1, 2], [3, 4]], [[1, 2, 3, 4, 5]]]
    assert list(progress.follow_encoding(batches, 10)) == batches
    first, second = terminal.getvalue().split("\r")
    assert first.endswith("encoded 50%, 10 s left") and second.endswith("encoded 100%, 0 s left\n")


def test_an_encoding_in_a_job_shows_nothing(capsys):
    assert list(progress.follow_encoding([[[1]]], 1)) == [[[1]]]
    assert capsys.readouterr().err == ""
