"""A small study, usually submitted to a scheduler, observed from outside."""

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
    """The small study in a folder; all processes are ended at exit.

    Args:
        folder: Folder with the checkout of the study.
        environment: Environment variables of the study.
        words: Command that starts the study.
    """

    def __init__(self, folder: Path, environment: dict[str, str], *words: str) -> None:
        self.folder = folder
        self.environment = environment
        self.log = (folder / "run.log").open("w+")
        self.start(*words)

    def start(self, *words: str) -> None:
        """Start the study, or start it again after a kill."""
        where = {"cwd": self.folder, "env": self.environment, "start_new_session": True}
        self.process = subprocess.Popen(words, stdout=self.log, stderr=subprocess.STDOUT, **where)

    def kill(self) -> None:
        """Kill the started processes, but not the submitted jobs."""
        started = psutil.Process(self.process.pid).children(recursive=True)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        psutil.wait_procs(started)

    def jobs(self) -> Any:
        """Return the scheduler's jobs for error messages, or None."""
        return None

    def wait(self, wanted: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        """Wait until a function returns a true value, and return the value.

        Args:
            wanted: The function, called ten times a second while the study runs.
            what: Description for the error message.
            seconds: Time limit. Default: `PATIENCE`.

        Raises:
            AssertionError: If the study ends, or the time limit is exceeded.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if found := wanted():
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what} was not seen: {self.jobs()}\n{self.said()}")

    def processes(self, stage: str) -> list[psutil.Process]:
        """Return the processes of a stage's jobs in the folder of the study."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = process.cmdline()
                is_job = any(f"/jobs/{stage}/" in word for word in words)
                if is_job and "replicse" in words and process.cwd() == str(self.folder):
                    found.append(process)
        return found

    def said(self) -> str:
        """Return the output of the study so far."""
        self.log.flush()
        return Path(self.log.name).read_text(encoding="utf-8")

    def end(self) -> dict[str, bytes]:
        """Wait until the study ends successfully, and return the results."""
        assert self.process.wait(timeout=PATIENCE) == 0, self.said()
        return small_study.results(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)
        self.log.close()
        # Kill processes that were left running by a failed test.
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cwd() == str(self.folder):
                    process.kill()
