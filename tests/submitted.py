"""A small study, usually submitted to a scheduler, seen from outside."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import small_study

PATIENCE = 1800


class Submitted:
    """The small study in a folder; all its processes are ended at exit."""

    def __init__(self, folder: Path, environment: dict[str, str], *words: str) -> None:
        self.folder = folder
        self.environment = environment
        self.log = (folder / "run.log").open("w+")
        self.start(*words)

    def start(self, *words: str) -> None:
        """Start the study, or restart it after a kill."""
        where = {"cwd": self.folder, "env": self.environment, "start_new_session": True}
        self.process = subprocess.Popen(words, stdout=self.log, stderr=subprocess.STDOUT, **where)

    def kill(self) -> None:
        """Kill the started processes, and leave the submitted jobs."""
        started = psutil.Process(self.process.pid).children(recursive=True)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        psutil.wait_procs(started)

    def jobs(self) -> Any:
        """Return the scheduler's jobs of the study for error messages, or None."""
        return None

    def wait(self, wanted: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        """Return the first true value of a function while the study runs."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if found := wanted():
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what} was not seen: {self.jobs()}\n{self.said()}")

    def processes(self, stage: str) -> list[psutil.Process]:
        """Return the processes of the jobs of a stage in the study's folder."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = process.cmdline()
                is_job = any(f"/jobs/{stage}/" in word for word in words)
                if is_job and "replicse" in words and process.cwd() == str(self.folder):
                    found.append(process)
        return found

    def said(self) -> str:
        """Return the study's output until now."""
        self.log.flush()
        return Path(self.log.name).read_text(encoding="utf-8")

    def end(self) -> dict[str, bytes]:
        """Wait for the study to end successfully, and return its results."""
        assert self.process.wait(timeout=PATIENCE) == 0, self.said()
        return small_study.results(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)
        self.log.close()
        # Processes that a failed test left running.
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cwd() == str(self.folder):
                    process.kill()
