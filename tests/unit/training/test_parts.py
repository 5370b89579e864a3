"""Batches in parts should have the same losses, gradients and weights.

The parts are processes, or chunks of rows.
"""

import json
import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import micro
import parted
import psutil
import pytest
import torch
from job_files import write_job
from snakemake_runs import ran

from replicse.cli import main
from replicse.errors import Failed
from replicse.training.loop import Trainer
from replicse.training.parts import Parts
from replicse.training.processes import Processes

TEXT, OTHER = {"column": "text"}, {"column": "other"}
STEPS = {"batch_size": 16, "learning_rate": 1e-5, "clip": 1000, "steps": 6, "epochs": 2}
ROWS = 34  # so that the third batch of an epoch has 2 rows, fewer than three processes


def templated(template: str) -> dict:
    return {**TEXT, "pooling": {"pooling": "mask", "template": template, "denoise": True, "head": True}}


def jobs_of(folder: Path) -> dict:
    """Return a dict of jobs that split a batch in different ways.

    They split vectors, tokens, encoders or masks. All jobs use dropout.
    """
    chosen = {
        "infonce": {},
        "hard-negatives": {"views": [TEXT, TEXT, OTHER], "encoders": "two"},
        "mlm": {"objective": [{"term": "infonce"}, {"term": "mlm", "weight": 0.1}]},
        "templates": {"views": [templated("mi {text} : {mask} ."), templated("{mask} {text} ba")]},
        "mean": {
            "dropout": {"heads": 0.3, "pooled": 0.2},
            "pooling": {"train": {"pooling": "mean", "pad_to": 20}},
        },
    }
    usual = {"optimisation": STEPS, "selection": {"every": 0}, "pooling": {"train": "cls-head"}}
    return {name: micro.job(folder, count=ROWS, **{**usual, **changes}) for name, changes in chosen.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the jobs, and the results of one process with whole batches."""
    folder = tmp_path_factory.mktemp("runs")
    torch.set_num_threads(1)
    jobs = jobs_of(folder)
    return jobs, {name: parted.steps(job, folder, Parts()) for name, job in jobs.items()}


def close(found, whole):
    """Check that results equal whole batches, to 1e-9 in float64.

    In single precision, Adam takes full steps if gradients are 0 except for rounding (biases of keys).
    """
    for part in ("losses", "gradients", "weights"):
        torch.testing.assert_close(found[part], whole[part], rtol=1e-9, atol=1e-9)


def test_processes_find_what_one_finds_with_the_whole_batch(runs, tmp_path):
    """Several processes should compute the same as one with whole batches.

    There are three processes, each with chunks; the first process has no row of the last batch.
    """
    jobs, whole = runs
    (tmp_path / "jobs").write_bytes(pickle.dumps(jobs))
    own = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = ran(sys.executable, parted.__file__, str(tmp_path), "3", "3", env=os.environ | own)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [torch.load(tmp_path / f"found-{rank}") for rank in range(3)]
    for name in jobs:
        close(found[0][name], whole[name])
        for other in found[1:]:
            pairs = zip(found[0][name]["weights"], other[name]["weights"], strict=True)
            for pair in pairs:
                assert torch.equal(*pair), "all make one step"


def test_chunks_find_what_the_whole_batch_finds(runs, tmp_path):
    jobs, whole = runs
    for name, job in jobs.items():
        close(parted.steps(job, tmp_path, Parts(chunk=5)), whole[name])


def test_a_part_draws_other_masks_where_an_engine_cannot_draw_those_of_all(runs, tmp_path, monkeypatch):
    """If an engine cannot repeat the masks of a batch, parts use other masks.

    This is so on a GPU. The second pass of a part must still repeat the masks of the first pass, and
    processes must differ.
    """
    jobs, whole = runs
    monkeypatch.setattr("replicse.encoder.packed.transformer.PackedBackbone.masks", lambda self, batch: None)
    job = jobs["infonce"]
    one, again = parted.steps(job, tmp_path, Parts(chunk=5)), parted.steps(job, tmp_path, Parts(chunk=5))
    assert one["losses"] == again["losses"] != whole["infonce"]["losses"]
    spec = {**job.spec.plain(), "dropout": {"hidden": 0, "attention": 0}}
    without = replace(job, spec=type(job.spec).of(spec, "run"))
    close(parted.steps(without, tmp_path, Parts(chunk=5)), parted.steps(without, tmp_path, Parts()))
    passes = []
    encode = Trainer._update

    def traced(self, *batch):
        drawn = self.model.backbone.embedding_dropout.forward
        self.model.backbone.embedding_dropout.forward = lambda *values: (
            passes.append(drawn(*values)) or passes[-1]
        )
        return encode(self, *batch)

    monkeypatch.setattr(Trainer, "_update", traced)
    parted.steps(job, tmp_path, Parts(chunk=8), count=1)
    assert len(passes) == 4
    assert torch.equal(passes[0], passes[2]) and torch.equal(passes[1], passes[3])


def words_of(job, root, folder, *more):
    document = {"run": job.spec.plain(), "run_id": job.run_id, "init": "", "tokenizer": str(job.tokenizer)}
    document["stores"] = list(map(str, job.stores))
    out = folder / "out"
    outputs = [out / "best/model.safetensors", out / "last/model.safetensors"]
    outputs += [out / "metrics.json", out / "provenance.json"]
    return [*write_job(folder, "train", document, outputs, root), *more]


def test_the_verb_starts_processes_of_which_the_first_writes_and_says_how_many_there_were(tmp_path, capfd):
    often = {"selection": {"every": 2}, "trajectory": {"every": 2, "until": 4}}
    job = micro.job(tmp_path, optimisation={**STEPS, "steps": 4}, **often)
    root = micro.dev_root(tmp_path / "data")
    assert main(words_of(job, root, tmp_path / "one")) == 0
    assert main(words_of(job, root, tmp_path / "two", "--processes", "2", "--chunk", "4")) == 0
    one, two = tmp_path / "one" / "out", tmp_path / "two" / "out"
    for name in ("last", "trajectory/step-2"):
        left, right = micro.weights(one / name), micro.weights(two / name)
        for key in left:
            assert abs(left[key] - right[key]).max() < 1e-6
    assert micro.metrics(one)["best"]["dev"] == pytest.approx(micro.metrics(two)["best"]["dev"], abs=0.1)
    record = json.loads((two / "provenance.json").read_text())
    assert (record["processes"], record["chunk"]) == (2, 4)
    assert "processes" not in json.loads((one / "provenance.json").read_text())
    names = {path.name for path in two.iterdir()}
    assert {path.name for path in one.iterdir()} == names


def test_a_process_that_ends_before_its_time_is_one_sentence(tmp_path, monkeypatch):
    """If a process ends too early, a sentence is printed.

    Otherwise the first process would wait for hours. The processes should listen on this machine only.
    """
    job, root = micro.job(tmp_path), micro.dev_root(tmp_path / "data")
    addresses = set()
    update = Trainer._update

    def update_then_end_the_other(self, step, *batch):
        if step == 2:
            for connection in psutil.Process().net_connections():
                if connection.status == psutil.CONN_LISTEN:
                    addresses.add(connection.laddr.ip)
            (other,) = subprocess_of_this()
            os.kill(other, 9)
        return update(self, step, *batch)

    monkeypatch.setattr(Trainer, "_update", update_then_end_the_other)
    monkeypatch.setattr("replicse.cli.logging.basicConfig", lambda **_: None)
    assert main(words_of(job, root, tmp_path / "run", "--processes", "2")) == 1
    assert not (tmp_path / "run" / "out" / "last").exists()
    assert addresses == {"127.0.0.1"}


def subprocess_of_this() -> list[int]:
    """Return the running child processes of this process as a list of ids."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return list(map(int, children))


def test_processes_that_begin_at_different_steps_are_refused():
    processes = Processes(0, 2)
    processes.sum = lambda values: values + torch.tensor([5, 25])
    with pytest.raises(Failed, match="starts at step 4, but another process at another step"):
        processes.check_same_step(4)
