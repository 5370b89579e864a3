"""Slots of GPUs: one job a slot, round the devices, free again when its process ends."""

import subprocess
import sys

import pytest

from replicse.errors import BadInput
from replicse.runtime.devices import device_for, see_one_device, share

JOB = (
    "import os, sys; from replicse.runtime.devices import share, take_slot; share(4);"
    " print(take_slot(os.environ, 0.05), os.environ['CUDA_VISIBLE_DEVICES'], flush=True); sys.stdin.read()"
)


@pytest.fixture
def start(tmp_path):
    """Start jobs under four slots on the devices 3 and 5; each holds its slot until its input is closed."""
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


def test_jobs_go_round_the_devices_and_the_next_waits_for_a_free_slot(start):
    jobs = [start() for _ in range(4)]
    seen = [job.stdout.readline().split() for job in jobs]
    assert sorted(seen) == [["3", "3"], ["3", "3"], ["5", "5"], ["5", "5"]]
    fifth = start()
    with pytest.raises(subprocess.TimeoutExpired):
        fifth.wait(0.5)
    jobs[seen.index(["5", "5"])].kill()
    assert fifth.stdout.readline().split() == ["5", "5"], "the slot of a killed job is free"


def test_processes_of_one_run_see_a_gpu_each_and_say_when_they_share():
    """NCCL refuses two processes on one device."""
    seen = []
    for place in range(3):
        environment = {"CUDA_VISIBLE_DEVICES": "0,2"}
        assert see_one_device(environment, place, 2)
        assert not see_one_device({"CUDA_VISIBLE_DEVICES": "0,2"}, place, 3)
        seen.append(environment["CUDA_VISIBLE_DEVICES"])
    assert seen == ["0", "2", "0"]
    slots = {"CUDA_VISIBLE_DEVICES": "0,2"}
    share(4)
    assert not see_one_device(slots, 0, 2) and slots["CUDA_VISIBLE_DEVICES"] == "0,2", "a slot is taken later"
    share(0)


@pytest.mark.parametrize("name", ["cud", "cuda:99", "cpu:x"])
def test_a_device_that_is_not_there_is_named(name):
    """`--device cuda` without a GPU ended in a traceback."""
    with pytest.raises(BadInput, match=f'device "{name}" cannot be used'):
        device_for(name)
    assert device_for("cpu").type == "cpu"
