"""The states of the jobs of a study.

A job is done, running, failed, or waiting for an unfinished job.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.compile.job import Job
from replicse.compile.jobs import list_jobs
from replicse.compile.study import Study
from replicse.runtime.forking import INTERRUPTED
from replicse.runtime.progress import alive

# The end of the last log line of a job that has not failed: finished or interrupted.
NO_FAILURE = re.compile(rf" INFO wrote=|: {INTERRUPTED}$|^KeyboardInterrupt$")


class JobStates:
    """The states of jobs by output file: done, running, failed or waiting.

    By default, the logs of all starts count.

    Args:
        study: the study.
        since: seconds of the epoch; older logs belong to an earlier start of the study. Default: 0.
    """

    def __init__(self, study: Study, since: float = 0.0) -> None:
        self.study, self.since = study, since
        self._states: dict[str, str] = {}
        self._failed: dict[str, tuple[Job, ...]] = {}

    @cached_property
    def _maker(self) -> dict[str, Job]:
        """Return the job of each output file; empty if no job has a log."""
        if not Path(self.study.paths.logs).is_dir():
            return {}
        return {file: job for job in list_jobs(self.study).values() for file in job.outputs}

    @property
    def begun(self) -> dict[Job, dict[str, Any] | None]:
        """Return the running and failed jobs.

        Returns:
            A dict from jobs to the heartbeat of a running job, or None for a failed job.
        """
        return {job: self.running(job) for job in dict.fromkeys(self._maker.values()) if self.began(job)}

    def began(self, job: Job) -> bool:
        """Return whether an unfinished job runs or failed.

        The last line of the log of such a job does not name an output. Snakemake deletes the outputs of a failed job.
        A job that succeeded is unfinished if somebody deleted the outputs. An interrupted job waits for the next
        start.

        Args:
            job: the job.
        """
        log = Path(job.log)
        started = not job.done and log.is_file() and log.stat().st_mtime >= self.since
        return started and not (job.tail and NO_FAILURE.search(job.tail[-1]))

    def running(self, job: Job) -> dict[str, Any] | None:
        """Return the heartbeat of a running job, on this or another machine.

        Args:
            job: the job.

        Returns:
            The heartbeat as a dict; None if the job does not run.
        """
        return alive(job.log) if self.began(job) else None

    def state(self, file: str) -> str:
        """Return the state of a file: done, running, failed or waiting.

        If the job of a file has not started, a failed or running job of its inputs sets the state.

        Args:
            file: the path of an output of a job.
        """
        job = self._maker.get(file)
        if file not in self._states:
            self._states[file] = self._find_state(file, job)
        return self._states[file]

    def _find_state(self, file: str, job: Job | None) -> str:
        """Return the state of an output of a job."""
        if job is None or job.done:
            return "done" if Path(file).exists() else "waiting"
        if self.began(job):
            return "running" if self.running(job) else "failed"
        needed = {self.state(need) for need in job.inputs}
        return next((worse for worse in ("failed", "running") if worse in needed), "waiting")

    def failed(self, file: str) -> tuple[Job, ...]:
        """Return the failed jobs because of which a file does not exist.

        Args:
            file: the path of an output of a job.

        Returns:
            The jobs; empty if no job failed.
        """
        if file not in self._failed:
            job = self._maker.get(file)
            failed: tuple[Job, ...] = ()
            if job and not job.done:
                for need in job.inputs:
                    failed += self.failed(need)
                failed = tuple(dict.fromkeys(failed))
                if not failed and self.began(job) and not self.running(job):
                    failed = (job,)
            self._failed[file] = failed
        return self._failed[file]
