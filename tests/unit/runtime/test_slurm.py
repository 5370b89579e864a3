"""Jobs of a killed study, in a simulated Slurm."""

import subprocess
import sys

import pytest
from until import until

from replicse.runtime import locks, slurm

NAME = "replicse_9f0c1c52-4a55-4d1f-9f0e-0123456789ab"
SQUEUE = '#!/bin/sh\necho "$@" >> {home}/asked\n[ -e {home}/away ] && exit 1\ncat {home}/queue\n'
SCANCEL = """#!/bin/sh
echo "$@" >> {home}/cancelled
for job in "$@"; do grep -v "^$job " {home}/queue > {home}/rest; cp {home}/rest {home}/queue; done
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """Create the folder of a queue for simulated `squeue` and `scancel`."""
    home = tmp_path / "cluster"
    home.mkdir()
    for name, text in (("squeue", SQUEUE), ("scancel", SCANCEL)):
        (home / name).write_text(text.format(home=home))
        (home / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    (home / "queue").write_text("")
    return home


@pytest.fixture
def folder(tmp_path):
    """Create the folder of a study with submitted jobs.

    The name of the folder contains a space.
    """
    folder = tmp_path / "my study"
    (folder / slurm.LOGS).mkdir(parents=True)
    return folder


def test_jobs_that_a_study_left_are_ended_and_no_others(cluster, folder, tmp_path):
    others = (
        f"5 {NAME} {tmp_path}/my\n6 {NAME}x {folder}\n7 replicse_notebook {folder}\n8 {NAME} {folder}/src\n"
    )
    (tmp_path / "link").symlink_to(folder)
    (cluster / "queue").write_text(
        f"12 {NAME} {tmp_path}/link\n9 {NAME} {folder}\n9 {NAME} {folder}\n{others}"
    )
    assert locks.free(folder) == ["ended the Slurm jobs 9, 12 of a study that no longer runs"]
    assert (cluster / "cancelled").read_text() == "9 12\n"
    assert (cluster / "queue").read_text() == others
    assert "--me" in (cluster / "asked").read_text()
    assert locks.free(folder) == []


def test_processes_of_an_ended_job_that_are_still_ending_here_are_waited_for(cluster, folder):
    (folder / locks.LOCKS).mkdir(parents=True)
    (folder / locks.LOCKS / "0.output.lock").write_text("results/x\n")
    (folder / "replicse_job.py").write_text("import time; time.sleep(1)")
    job = subprocess.Popen([sys.executable, "replicse_job.py"], cwd=folder)
    until(lambda: locks.at_work(folder))
    (cluster / "queue").write_text(f"3 {NAME} {folder}\n")
    assert locks.free(folder) == [
        "ended the Slurm jobs 3 of a study that no longer runs",
        "removed the lock of a Snakemake that no longer runs",
    ]
    assert job.wait(timeout=5) == 0


def test_a_cluster_that_does_not_answer_is_told_of_folders_that_submitted(
    cluster, folder, tmp_path, monkeypatch
):
    assert locks.free(tmp_path) == [] and not (cluster / "asked").exists()
    (cluster / "away").touch()
    (sentence,) = locks.free(folder)
    assert sentence.startswith("jobs that a killed study left may still run")
    monkeypatch.setenv("PATH", str(folder))
    (sentence,) = locks.free(folder)
    assert "squeue" in sentence
