"""Recovery after a kill, a full disk or a lost file.

The next start should end with equal results, or name a remedy.
"""

import logging
import os
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import micro
import pytest
import torch
from job_files import write_job
from pretended import pretended_gpu
from tiny_encoders import other_family
from until import until

from replicse.cli import main
from replicse.cli.evaluate import write_scores
from replicse.cli.stages.train import failing_once
from replicse.data.store import write_store
from replicse.encoder.huggingface import TransformersBackbone
from replicse.errors import BadInput, Failed
from replicse.files import copy_file, read_json, write_json, write_rows
from replicse.runtime import locks
from replicse.training import state
from replicse.training.loop import Trainer, train

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Train a job, and stop a second run of it at step 14.

    Returns:
        The job, the data root, the output of the complete run, and the state folder of the stopped run.
    """
    folder = tmp_path_factory.mktemp("study")
    torch.set_num_threads(1)
    job, root = micro.job(folder), micro.dev_root(folder / "data")
    train(job, root, folder / "whole", folder / "state-whole", CPU)
    micro.run_until_killed(Trainer(job, root, folder / "cut", folder / "state", CPU), 14)
    return job, root, folder / "whole", folder / "state"


@pytest.mark.parametrize(("seconds", "expected"), [(0, 20), (30, 4)])
def test_a_slow_save_is_done_less_often(study, tmp_path, monkeypatch, seconds, expected):
    """If saving is slow, a state should be saved less often.

    Saving should only use a small part of the training time, whatever the size of the encoder and the speed
    of the disk.
    """
    job, root, _, _ = study
    clock, saves = [0.0], []

    def visit(self, step, loss):
        clock[0] += 2.0

    def save(self, **progress):
        saves.append(progress["step"])
        clock[0] += seconds

    monkeypatch.setattr("replicse.training.loop.time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(state.RunState, "save", save)
    monkeypatch.setattr(Trainer, "_visit", visit)
    Trainer(job, root, tmp_path / "out", tmp_path / "state", CPU, save_every_seconds=1.0).run()
    assert len(saves) == expected, "every step of two seconds, or one of six"


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def the(folder, kind):
    (path,) = folder.glob(f"{kind}-*.pt")
    return path


@pytest.mark.parametrize(
    ("damage", "code", "begun_anew"),
    [
        (lambda folder: None, "", ""),
        (lambda folder: (folder / "state.new").write_bytes(b"half"), "", ""),
        (lambda folder: None, "another digest", "saved by other code of the run"),
        (lambda folder: cut(the(folder, "state")), "", "begun-again"),
        (lambda folder: the(folder, "best").unlink(), "", "begun-again"),
        (lambda folder: flip(the(folder, "best")), "", "begun-again"),
    ],
)
def test_a_damaged_state_is_never_gone_on_from(study, tmp_path, caplog, damage, code, begun_anew):
    """A damaged state should never be used to continue.

    If a state was truncated, or the best weights were missing, every next start once ended in a traceback.
    """
    job, root, whole, left = study
    shutil.copytree(left, tmp_path / "state")
    damage(tmp_path / "state")
    caplog.set_level(logging.INFO)
    train(job, root, tmp_path / "out", tmp_path / "state", CPU, code=code)
    assert (begun_anew or "resumed step=13 of=20") in caplog.text
    assert ("resumed" in caplog.text) != bool(begun_anew)
    assert micro.equal_runs(whole, tmp_path / "out")
    assert not (tmp_path / "state").exists()


@contextmanager
def files_of_at_most(size):
    """Limit the size of files in bytes, as if the disk were full.

    No bytecode is written: Python before 3.12 would leave truncated bytecode of imported modules, and always
    load it later.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = before


def test_a_full_disk_is_one_sentence_and_leaves_the_state_before(study, tmp_path, capsys):
    """If the disk is full, a sentence is printed; the old state is kept.

    The error once was `enforce fail at inline_container.cc`.
    """
    job, root, whole, left = study
    shutil.copytree(left, tmp_path / "state")
    before = sorted(path.name for path in (tmp_path / "state").iterdir())
    with files_of_at_most(10_000), pytest.raises(Failed, match=r"state: cannot be written .* free space"):
        Trainer(job, root, tmp_path / "out", tmp_path / "state", CPU, save_every_seconds=0.0).run()
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == before
    with files_of_at_most(10_000), pytest.raises(Failed, match=r"model.safetensors: cannot be written"):
        train(job, root, tmp_path / "out", tmp_path / "state", CPU)
    words = write_job(tmp_path, "data", {"source": "embedded"}, [tmp_path / "data.json"])
    with files_of_at_most(100):
        assert main(words) == 1
    error = capsys.readouterr().err
    assert f"{tmp_path}/data" in error and "cannot be written" in error and error.count("\n") == 1
    train(job, root, tmp_path / "out", tmp_path / "state", CPU)
    assert micro.equal_weights(whole / "last", tmp_path / "out" / "last")


def save_electra(folder, tokenizer):
    TransformersBackbone(other_family("Electra", 97), 16).save(folder, None, tokenizer)


SCORES = {"suites": {"sts": "8" * 20_000}, "pairs": {"sts": [1]}}
WRITERS = {
    "tokens.npy": lambda folder, tokenizer: write_store(folder, ["word"] * 2000, tokenizer, 16, {}),
    "table.csv": lambda folder, _: write_rows(folder / "table.csv", ["a"], [{"a": "8" * 20_000}]),
    "tmp.*": save_electra,  # `transformers` first writes to a separate folder
    "copy.json": lambda folder, tokenizer: copy_file(tokenizer, folder / "copy.json"),
    "scores.json": lambda folder, _: write_scores(folder / "scores.json", {**SCORES}),
}


@pytest.mark.parametrize("name", WRITERS)
def test_each_writer_names_the_file_that_a_full_disk_does_not_take(study, tmp_path, name):
    """If the disk is full, the error should name the file.

    The error once named "a file" or the copied file, or was a traceback of NumPy. Pairs were once written
    without scores.
    """
    limit = 1000 if name == "copy.json" else 10_000
    with files_of_at_most(limit), pytest.raises(Failed, match=rf"/{name}: cannot be written .* free space"):
        WRITERS[name](tmp_path, study[0].tokenizer)
    with files_of_at_most(1), pytest.raises(Failed, match="what was not written"), failing_once(tmp_path, 0):
        raise Failed("what was not written")
    assert list(tmp_path.iterdir()) == []


# Locks


@pytest.fixture
def locked(tmp_path):
    """Create a folder that is locked by Snakemake."""
    (tmp_path / locks.LOCKS).mkdir(parents=True)
    (tmp_path / locks.LOCKS / "0.output.lock").write_text("results/x\n")
    return tmp_path


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, r"process \d+ runs a study in this folder; wait for it or end it"),
        ({"host": "elsewhere", "pid": 1}, r"on the machine elsewhere \(process 1\) uses this folder"),
        ({"pid": 2**22 + 1}, ""),
        ({"start": "another boot 12"}, ""),
    ],
)
def test_a_lock_is_removed_once_its_holder_has_ended(locked, change, told):
    """A lock should be removed if the process that created it has ended.

    This includes the case that another process now has the same id.
    """
    locks.note_holder(locked)
    write_json(locked / locks.HOLDER, {**read_json(locked / locks.HOLDER), **change})
    if told:
        with pytest.raises(BadInput, match=told):
            locks.free(locked)
        assert (locked / locks.LOCKS).exists()
    else:
        assert locks.free(locked) and not (locked / locks.LOCKS).exists()
        assert not locks.free(locked), "a folder without a lock is left alone"


def test_a_holder_that_was_killed_holds_nothing_before_its_parent_hears_of_it(locked):
    noting = "import sys, time; from pathlib import Path; from replicse.runtime.locks import note_holder;"
    noting += "note_holder(Path(sys.argv[1])); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", noting, str(locked)])
    try:
        until((locked / locks.HOLDER).exists)
        with pytest.raises(BadInput, match=f"process {holder.pid} runs a study in this folder"):
            locks.free(locked)
        holder.kill()
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        assert locks.free(locked)
    finally:
        holder.kill()
        holder.wait()


def test_a_job_that_outlived_its_study_holds_the_folder(locked):
    (locked / "replicse_job.py").write_text("import time; time.sleep(60)")
    job = subprocess.Popen([sys.executable, "replicse_job.py"], cwd=locked)
    try:
        until(lambda: locks.at_work(locked))
        with pytest.raises(BadInput, match=f"process {job.pid} still runs in this folder"):
            locks.free(locked)
    finally:
        job.kill()
        job.wait()
    assert locks.free(locked)


@pytest.mark.parametrize(("saved_on", "resumed_on"), [(8, 1), (1, 8)])
def test_a_state_resumes_on_another_number_of_gpus(tmp_path, saved_on, resumed_on):
    def saved_state(device):
        return state.RunState(tmp_path, {}, torch.Generator(), device=torch.device(device))

    with pretended_gpu(saved_on):
        torch.cuda.set_rng_state(torch.tensor([7], dtype=torch.uint8), "cuda:0")
        saved_state("cuda:0").save(step=3, best=None)
    with pretended_gpu(resumed_on):
        assert saved_state("cuda").load()["step"] == 3
        assert torch.cuda.get_rng_state("cuda:0").tolist() == [7]
    assert saved_state("cpu").load()["step"] == 3
