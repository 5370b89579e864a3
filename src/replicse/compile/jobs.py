"""The state of the jobs of a study: done, running, failed, or waiting for one that is."""

import re
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.compile.job import Job
from replicse.compile.study import Study
from replicse.runtime.forking import INTERRUPTED
from replicse.runtime.progress import alive

# In the last line of a log: of a job that ended well, after the time, and of one that was interrupted, at its end.
NO_FAILURE = re.compile(rf" INFO wrote=|: {INTERRUPTED}$|^KeyboardInterrupt$")


class Jobs:
    """The jobs of a plan by the files they make; `since` (seconds of the epoch) is when the study was started."""

    def __init__(self, plan: Study, since: float = 0.0) -> None:
        self.plan, self.since = plan, since
        self._states: dict[str, str] = {}
        self._failed: dict[str, tuple[Job, ...]] = {}

    @cached_property
    def _making(self) -> dict[str, Job]:
        """Return the job that makes each file; none where no job has left a log, and so none has begun."""
        logs = Path(self.plan.paths.logs).is_dir()
        return {file: job for job in self.plan.jobs.values() for file in job.outputs} if logs else {}

    @property
    def begun(self) -> dict[Job, dict[str, Any] | None]:
        """Return the jobs that run, with their heartbeats, and those that failed, with none."""
        return {job: self.running(job) for job in dict.fromkeys(self._making.values()) if self.began(job)}

    def began(self, job: Job) -> bool:
        """Return whether a job that is not done runs or failed: its log does not end with what it wrote.

        What a failed job had made is taken away; one that ended well is not done where somebody deleted that. One that
        was interrupted waits to be started again.
        """
        log = Path(job.log)
        started = not job.done and log.exists() and log.stat().st_mtime >= self.since
        return started and not (job.tail and NO_FAILURE.search(job.tail[-1]))

    def running(self, job: Job) -> dict[str, Any] | None:
        """Return the heartbeat of a job that runs, here or on another machine."""
        return alive(job.log) if self.began(job) else None

    def state(self, file: str) -> str:
        """Return the state of a file: done, or whether a job it needs has failed or runs, or it waits."""
        job = self._making.get(file)
        if file not in self._states:
            if job is None or job.done:
                state = "done" if Path(file).exists() else "waiting"
            elif self.began(job):
                state = "running" if self.running(job) else "failed"
            else:
                needed = {self.state(need) for need in job.inputs}
                state = next((worse for worse in ("failed", "running") if worse in needed), "waiting")
            self._states[file] = state
        return self._states[file]

    def failed(self, file: str) -> tuple[Job, ...]:
        """Return the jobs whose failure keeps a file from being there; none where nothing was tried."""
        if file not in self._failed:
            job = self._making.get(file)
            failed: tuple[Job, ...] = ()
            if job and not job.done:
                failed = tuple(dict.fromkeys(each for need in job.inputs for each in self.failed(need)))
                failed = failed or ((job,) if self.began(job) and not self.running(job) else ())
            self._failed[file] = failed
        return self._failed[file]
