"""Weights of a search are removed after evaluation; no run is repeated."""

import json
import os
import re
from pathlib import Path

import pytest
from snakemake_runs import copied, jobs, snakemake

from replicse.compile.compiler import compile_study
from replicse.compile.copies import write_copy
from replicse.compile.discarded import list_discarded
from replicse.compile.job_states import JobStates
from replicse.compile.jobs import list_jobs
from replicse.compile.specifications import Specifications
from replicse.files import sha256_of

CONFIG = {"scale": "micro", "papers": {"simcse": ["tableA1"]}, "seeds": [0]}
CHECKPOINTS = ("best/model.safetensors", "last/model.safetensors")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Create a finished study of a search, at a scale that removes weights.

    The files of the study are empty.
    """
    folder = copied(tmp_path)
    scale = folder / "workflow/scales/micro.yaml"
    text = scale.read_text(encoding="utf-8")
    scale.write_text(text.replace("needs: {gpu: none,", "needs: {gpu: none, keeps_searches: false,"))
    (folder / "config.yaml").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(folder / "workflow"))
    study = compile_study(CONFIG, folder / "workflow")
    specifications = Specifications(study, folder / "src/replicse")
    specifications.write()
    for place, job in enumerate(list_jobs(study).values()):
        for output in map(Path, job.outputs):
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(f"of {job}")
        specification = json.loads(specifications.text(job))
        write_copy(job.copy, specification)
        Path(job.log).parent.mkdir(parents=True, exist_ok=True)
        Path(job.log).write_text("12:00:00 INFO seconds=1.0\n")
        for file in (*job.outputs, str(job.copy)):
            os.utime(file, (1e9 + place, 1e9 + place))
    return study


def test_searched_weights_are_removed_and_nothing_runs_again(study):
    discarded = list_discarded(study)
    kept = study.runs.keys() - discarded.keys()
    assert kept == set().union(*study.depends.values()), "the backbones that other runs start from"
    assert jobs(snakemake(Path(), "-n").stdout) == {
        "all": 1,
        "discard": len(discarded),
        "total": 1 + len(discarded),
    }
    run = next(iter(discarded))
    checksum = sha256_of(Path(study.paths.run(run, CHECKPOINTS[0])))
    done = snakemake(Path(), env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in study.runs:
        exist = [Path(study.paths.run(name, file)).exists() for file in CHECKPOINTS]
        assert exist == [name in kept] * 2
    text = Path(study.paths.run(run, "discarded.sha256")).read_text()
    assert re.findall(r"(\w{64})  (\S+)", text)[0] == (checksum, CHECKPOINTS[0])
    assert "Nothing to be done" in snakemake(Path(), "-n").stdout
    job = list_jobs(study)["train", run]
    assert job.done and JobStates(study).state(job.outputs[0]) == "waiting"
    assert not JobStates(study).begun
    # A lost evaluation is computed again, so the run must be trained again, too.
    Path(discarded[run][0]).unlink()
    found = jobs(snakemake(Path(), "-n").stdout)
    assert (found["train"], found["discard"]) == (1, 1)
