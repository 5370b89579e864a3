"""Slots of GPUs: one job a slot, round the devices, free again when its process ends."""

import subprocess
import sys

import pytest

from replicse.devices import take_slot

JOB = (
    "import os, sys; from replicse.devices import take_slot; print(take_slot(os.environ, 0.05),"
    " os.environ['CUDA_VISIBLE_DEVICES'], flush=True); sys.stdin.read()"
)


@pytest.fixture
def start(tmp_path):
    """Start jobs under four slots on the devices 3 and 5; each holds its slot until its input is closed."""
    jobs = []

    def started():
        environment = {
            "REPLICSE_GPU_SLOTS": "4", "CUDA_VISIBLE_DEVICES": "3,5", "TMPDIR": str(tmp_path),
            "PYTHONPATH": ":".join(sys.path),
        }  # fmt: skip
        jobs.append(
            subprocess.Popen(
                [sys.executable, "-c", JOB], env=environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )
        )  # fmt: skip
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


@pytest.mark.parametrize(
    "environment", [{"CUDA_VISIBLE_DEVICES": "0"}, {"REPLICSE_GPU_SLOTS": "2"} | {"CUDA_VISIBLE_DEVICES": ""}]
)
def test_without_slots_or_devices_nothing_changes(environment):
    before = dict(environment)
    assert take_slot(environment) == "" and environment == before
