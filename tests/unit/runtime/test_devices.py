"""Devices of jobs: the least used GPU, free when the process ends."""

import subprocess
import sys

import pytest

from replicse.errors import BadInput
from replicse.runtime.devices import device_for, sort_devices, take_device_of_rank

JOB = (
    "import os, sys; from replicse.runtime.devices import take_device;"
    " print(take_device(os.environ), os.environ['CUDA_VISIBLE_DEVICES'], flush=True); sys.stdin.read()"
)


@pytest.fixture
def start(tmp_path):
    """Return a function that starts jobs on devices 3 and 5.

    The function returns the process of a job, which uses a device until its input ends.
    """
    jobs = []

    def started():
        environment = {
            "CUDA_VISIBLE_DEVICES": "3,5", "TMPDIR": str(tmp_path),
            "PYTHONPATH": ":".join(sys.path),
        }  # fmt: skip
        piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        jobs.append(subprocess.Popen([sys.executable, "-c", JOB], env=environment, text=True, **piped))
        return jobs[-1]

    yield started
    for job in jobs:
        job.kill()
        job.wait()


def test_each_job_takes_the_device_that_the_fewest_jobs_use(start):
    jobs = [start() for _ in range(4)]
    seen = [job.stdout.readline().split() for job in jobs]
    assert sorted(seen) == [["3", "3"], ["3", "3"], ["5", "5"], ["5", "5"]]
    killed = jobs[seen.index(["5", "5"])]
    killed.kill()
    killed.wait()
    assert start().stdout.readline().split() == ["5", "5"], "the place of a killed job is free"
    assert start().stdout.readline().split()[0] in {"3", "5"}, "more jobs than places wait for nothing"


def test_processes_of_one_run_see_a_gpu_each_and_say_when_they_share(tmp_path, monkeypatch):
    """Each process of a run should get a GPU; shared GPUs should be reported.

    NCCL does not support two processes on the same device.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []
    for rank in range(3):
        environment = {"CUDA_VISIBLE_DEVICES": "0,2"}
        assert take_device_of_rank(environment, rank, 2)
        assert not take_device_of_rank({"CUDA_VISIBLE_DEVICES": "0,2"}, rank, 3)
        seen.append(environment["CUDA_VISIBLE_DEVICES"])
    assert seen == ["0", "2", "0"]


def test_a_run_of_several_processes_begins_with_the_least_used_devices(start, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert start().stdout.readline().split()[0] == "3"
    environment = {"CUDA_VISIBLE_DEVICES": "3,5,7"}
    sort_devices(environment)
    assert environment["CUDA_VISIBLE_DEVICES"] == "5,7,3"


@pytest.mark.parametrize("name", ["cud", "cuda:99", "cpu:x"])
def test_a_device_that_is_not_there_is_named(name):
    """A missing device is named.

    `--device cuda` without a GPU once ended in a traceback.
    """
    with pytest.raises(BadInput, match=f'device "{name}" cannot be used'):
        device_for(name)
    assert device_for("cpu").type == "cpu"
