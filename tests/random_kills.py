"""SIGKILLs at random moments of every stage of a study.

After each kill, the study is started again. Used by a test and a benchmark.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import small_study

from replicse.runtime.forking import JOB

# Prefix of the job specifications of each stage.
STAGES = {
    "prepare": "store/",
    "pre-train": "train/mlm-",
    "train": "train/infonce-",
    "evaluate": "evaluate/",
    "tabulate": "tabulate/",
    "judge": "judge.json",
    "report": "report.json",
}
# A job; Snakemake without the jobs, which continue; or the process group of Snakemake with all jobs.
VICTIMS = ("job", "main", "group")
REFUSED, REMEDY = 2, "wait for it or end it, then start again"
# Output of Snakemake or Python that users should not see after a kill.
UNTOLD = ("Traceback", "LockException", "IncompleteFilesException")
PATIENCE = 600.0


@dataclass
class Kills:
    """Repeated runs of a study with a kill in each stage.

    Attributes:
        folder: Folder of the study.
        expected: Dict from path to content, the results without kills.
        random: Random generator of the moments.
        stages: Stages in which to kill. Default: all stages.
        killed: Number of kills by (stage, victim).
        counts: Number of rounds, starts, refusals and removed locks.
        unequal: List of files that differ from the expected files, in any round.
    """

    folder: Path
    expected: Mapping[str, bytes]
    random: random.Random
    stages: Sequence[str] = tuple(STAGES)
    killed: Counter = field(default_factory=Counter)
    counts: Counter = field(default_factory=Counter)
    unequal: list[str] = field(default_factory=list)
    # Duration of each stage here in seconds, from jobs that ended before the random moment.
    lasting: dict[str, float] = field(default_factory=dict)

    def run(self, kills: int, seconds: float = float("inf")) -> None:
        """Run rounds until there are enough kills, or until the time is over.

        A round that has started is finished.

        Args:
            kills: Number of kills.
            seconds: Time limit. Default: no limit.
        """
        end = time.monotonic() + seconds
        while self.killed.total() < kills and time.monotonic() < end:
            self._round()

    def _round(self) -> None:
        for name in ("results", "reports", "logs", "figures", ".snakemake"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        before = self.killed.total()
        main = self._start()
        for stage in self.stages:
            main = self._kill(stage, main)
        assert self.killed.total() > before, "no job was seen"
        while main.wait(timeout=PATIENCE):
            main = self._again(main)
        found = small_study.results(self.folder)
        names = found.keys() | self.expected.keys()
        self.unequal += sorted(name for name in names if found.get(name) != self.expected.get(name))
        self.counts["rounds"] += 1

    def _start(self) -> subprocess.Popen:
        self.counts["invocations"] += 1
        with (self.folder / "run.log").open("w") as log:
            where = {
                "cwd": self.folder,
                "env": small_study.environment(self.folder),
                "start_new_session": True,
            }
            words = small_study.command("--cores", "2")
            return subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, **where)

    def _again(self, main: subprocess.Popen) -> subprocess.Popen:
        """Start the study again after it was killed, failed or was refused.

        A refusal must contain a remedy.
        """
        said = (self.folder / "run.log").read_text(encoding="utf-8")
        for word in UNTOLD:
            assert word not in said, said
        self.counts["locks removed"] += "removed the lock" in said
        if main.returncode == REFUSED:
            assert REMEDY in said, said
            self.counts["refused"] += 1
            time.sleep(0.5)
        return self._start()

    def _kill(self, stage: str, main: subprocess.Popen) -> subprocess.Popen:
        """Kill at a random moment of a stage, unless the stage has ended.

        Returns:
            The process of the study, which may be new.
        """
        end = time.monotonic() + PATIENCE
        while not (job := self._job(stage)):
            assert time.monotonic() < end, f"no {stage}"
            if main.poll() == 0:
                return main
            if main.returncode is not None:
                main = self._again(main)
            time.sleep(0.1)
        seen, moment = time.monotonic(), self.random.uniform(0, self.lasting.get(stage, 1.0))
        while job.is_running() and time.monotonic() < seen + moment:
            time.sleep(0.01)
        victim = VICTIMS[self.killed.total() % len(VICTIMS)]
        if not job.is_running():
            self.lasting[stage] = time.monotonic() - seen
            victim = "main"
        try:
            if victim == "job":
                _worker(job).kill()
            elif victim == "main":
                _snakemake(main).kill()
            else:
                os.killpg(main.pid, signal.SIGKILL)
        except (psutil.Error, ProcessLookupError):
            return main
        self.killed[stage, victim] += 1
        return main

    def _job(self, stage: str) -> psutil.Process | None:
        """Return the process of a running job of a stage in this folder, or None."""
        words_of_job = f"-m\0replicse\0job\0results/micro/jobs/{STAGES[stage]}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                if words_of_job in words and (process / "cwd").readlink() == self.folder:
                    return psutil.Process(int(process.name))
            except (OSError, psutil.Error):
                continue
        return None


def side_by_side(
    studies: Sequence[Kills], kills: int, seconds: float = float("inf")
) -> tuple[Counter, Counter, list[str]]:
    """Kill each of several studies in parallel.

    A killed study mostly waits for a single process, so several studies run on the same cores.

    Args:
        studies: List of studies in different folders.
        kills: Minimum number of kills in each study.
        seconds: Time limit. Default: no limit.

    Returns:
        `killed`, `counts` and `unequal`, each for all studies together.
    """
    with ThreadPoolExecutor(len(studies)) as threads:
        list(threads.map(lambda study: study.run(kills, seconds), studies))
    killed, counts, unequal = Counter(), Counter(), []
    for study in studies:
        killed += study.killed
        counts += study.counts
        unequal += study.unequal
    return killed, counts, unequal


def _worker(job: psutil.Process) -> psutil.Process:
    """Return the process that executes a job.

    If the job server is used, this is a fork of the server that writes to the same log; otherwise the job
    itself.
    """
    log = Path(f"/proc/{job.pid}/fd/1").resolve()
    for process in psutil.process_iter(["name"]):
        if process.name() == JOB and Path(f"/proc/{process.pid}/fd/1").resolve() == log:
            return process
    return job


def _snakemake(main: subprocess.Popen) -> psutil.Process:
    """Return the Snakemake process started by `replicse run`."""
    for child in psutil.Process(main.pid).children():
        if "snakemake" in child.cmdline():
            return child
    raise psutil.NoSuchProcess(main.pid)
