"""Run a study on a real Slurm cluster with one node, through the profiles.

Also tests cancelled jobs, exceeded limits and a killed controller. The tests are skipped if no cluster can be
set up: this needs root and Debian's slurm-wlm and munge.
"""

import os
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
import small_study
from snakemake_runs import ran
from submitted import Submitted

SCRIPT = Path(__file__).with_name("one-node-slurm.sh")
# The cluster has no accounting database. Jobs only take seconds, so they are checked often.
ASKING = ("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1")
ASKING += ("--seconds-between-status-checks", "1", "--latency-wait", "10")
# If no job has ended since the last check, the executor waits ten seconds longer.
OFTEN = "import asyncio\nasyncio.sleep = lambda seconds, sleep=asyncio.sleep: sleep(min(seconds, 1))\n"
FINISHED = "COMPLETED"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Start a cluster for all tests of this file; yield the folder."""
    if not find_spec("snakemake_executor_plugin_slurm"):
        pytest.skip("snakemake-executor-plugin-slurm is missing (requirements/dev.txt)")
    folder = tmp_path_factory.mktemp("slurm")
    try:
        started = script("start", folder)
        if started.returncode == 3:
            pytest.skip(f"no Slurm on this machine: {started.stderr.strip()}")
        assert started.returncode == 0, started.stderr
        yield folder
    finally:
        script("stop", folder)


def script(action, folder):
    return ran(SCRIPT, action, folder, timeout=600)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return a search path without `sacct`, for a cluster without accounting.

    If the plugin finds `sacct` while the controller is away, it gets an empty list of jobs and waits forever.
    """
    places = []
    for number, place in enumerate(os.environ["PATH"].split(os.pathsep)):
        if Path(place, "sacct").exists():
            links = tmp_path_factory.mktemp("programs") / str(number)
            links.mkdir()
            for program in Path(place).iterdir():
                if program.name != "sacct":
                    (links / program.name).symlink_to(program)
            place = str(links)
        places.append(place)
    return os.pathsep.join(places)


class OfSlurm(Submitted):
    """The study, submitted through a profile, and the jobs in the scheduler."""

    def __init__(self, folder, cluster, path, profile, *words):
        self.before = 0
        small_study.checkout(folder)
        (folder / "src" / "sitecustomize.py").write_text(OFTEN)
        self.environment = {
            **small_study.environment(folder),
            "SLURM_CONF": str(cluster / "slurm.conf"),
            "PATH": path,
        }
        self.before = max(self.jobs(), default=0)
        super().__init__(folder, self.environment, *self.words_of(profile), *words)

    @staticmethod
    def words_of(profile):
        """Return the command to run the study through a profile, as a list."""
        return [*small_study.command("--profile", f"workflow/profiles/{profile}", "--"), *ASKING]

    def hang(self, what):
        """Suspend the processes of trainings when they run."""
        for process in self.wait(lambda: self.processes("train"), what):
            process.send_signal(signal.SIGSTOP)

    def ask(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def jobs(self):
        """Return the scheduler's jobs of this study.

        Returns:
            Dict from a job number to a tuple of strings: state, comment, partition and generic resources.
        """
        form = "jobid:20,state:20,comment:200,partition:20,tres-per-job:40"
        rows = [line.split() for line in self.ask("squeue", "--states=all", "--noheader", "--Format", form)]
        return {int(row[0]): tuple(row[1:]) for row in rows if int(row[0]) > self.before}

    def running(self, word):
        """Return the number of a running job with a word in the comment, or None."""
        found = [number for number, job in self.jobs().items() if job[0] == "RUNNING" and word in job[1]]
        return found[0] if found else None

    def waiting(self):
        """Return a list of the numbers of running and pending jobs."""
        return sorted(number for number, job in self.jobs().items() if job[0] in ("RUNNING", "PENDING"))

    def states(self, word):
        """Return the states of jobs with a word in the comment, oldest first."""
        return [job[0] for _, job in sorted(self.jobs().items()) if word in job[1]]


def test_a_study_ends_with_equal_results_behind_all_that_a_scheduler_and_a_kill_do_to_it(
    cluster, undisturbed, path, tmp_path
):
    """A study should end with equal results, whatever Slurm does to the jobs.

    A job is cancelled, another exceeds the memory limit, a third the time limit; the controller and Snakemake
    are killed.

    The study starts with the profile without GPUs and continues with the GPU profile. At scale micro no rule
    requests a GPU, so here the command line requests it, as the rules do at other scales. This replaces all
    resources of the profile, including the partition. The next start should cancel jobs that survive the
    kill: two jobs that write the same files would remove each other's output.
    """
    memory = "store:mem_mb=30 if attempt == 1 else 4000"
    with OfSlurm(tmp_path / "a {study}", cluster, path, "slurm", "--set-resources", memory) as study:
        cancelled = study.wait(lambda: study.running("rule_tokenizer"), "a running tokenizer")
        study.ask("scancel", str(cancelled))
        # This run hangs until the time limit; the scheduler only checks every half minute.
        study.hang("the process of the backbone")
        hanging = study.running("mlm-")
        study.ask("scontrol", "update", f"JobId={hanging}", "EndTime=now")
        restarted = script("restart", cluster)
        assert restarted.returncode == 0, restarted.stderr
        study.wait(lambda: study.jobs()[hanging][0] == "TIMEOUT", "the end of its time")
        study.wait(lambda: study.running("infonce-"), "a running run")
        # The job hangs, so it still runs when the study is started again.
        study.hang("the process of the run")
        study.kill()
        left = study.waiting()
        asked = [
            "train:gpu=1",
            "train:slurm_partition=gpu",
            "evaluate:gpu=1",
            "evaluate:slurm_partition=gpu",
        ]
        study.start(*study.words_of("slurm-gpu"), "--set-resources", *asked)
        assert study.end() == undisturbed
        said = study.said()
        states = {word: study.states(word) for word in ("tokenizer", "store", "mlm-")}
        jobs = study.jobs()
    assert f"ended the Slurm jobs {', '.join(map(str, left))} of a study that no longer runs" in said
    assert left and {jobs[number][0] for number in left} == {"CANCELLED"}
    assert states["tokenizer"] == ["CANCELLED", FINISHED]
    # Slurm only reports OUT_OF_MEMORY if control groups count memory.
    assert states["store"] == ["FAILED", FINISHED] and "exceeded memory limit" in said
    assert states["mlm-"] == ["TIMEOUT", FINISHED]
    whole = [job for job in jobs.values() if job[0] == FINISHED]
    assert len(whole) == 9 and len(jobs) == len(whole) + len(left) + 3
    runs = [job for job in whole if job[1].startswith("rule_run-")]
    assert len(runs) == small_study.RUNS, "a run is trained and evaluated in one allocation"
    with_gpu = [job for job in runs if "infonce-" in job[1]]
    assert {job[2:] for job in with_gpu} == {("gpu", "gres:gpu:1")}
    assert {job[2:] for job in whole if job not in with_gpu} == {("cpu", "N/A")}
