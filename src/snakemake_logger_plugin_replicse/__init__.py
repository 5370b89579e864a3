"""A logger for Snakemake: `snakemake --logger replicse`.

It prints a line per stage, and the end of the log of each failed job.
"""

import logging
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from replicse.compile.job_states import NO_FAILURE
from replicse.runtime.progress import alive, progress_text, span

STAGES = {
    "prepare": ("data", "tokenizer", "backbone", "store", "study"),
    "train": ("train",),
    "evaluate": ("evaluate", "geometry", "count"),
    "tabulate": ("tabulate", "figures"),
    "report": ("judge", "report", "page"),
}
STAGE_OF = {rule: stage for stage, rules in STAGES.items() for rule in rules}
TAIL, BAR, TRAININGS = 12, 24, 8
# A dry run prints this many commands.
COMMANDS = 18
COMMAND = re.compile(r"replicse job \S+")
# Messages without an event that are printed. Warnings and errors are always printed.
TOLD = ("Nothing to be done", "Unlocking")
# For a failed job, its name and the end of its log are printed instead of these messages.
HIDDEN = (
    "Job failed, going on with independent jobs",
    "Exiting because a job execution failed",
    "Exception in run_job for rule",
    "RuleException:\nCalledProcessError",
)


@dataclass
class StageProgress:
    """The progress of a stage.

    Attributes:
        total: the number of jobs.
        running: the start of each running job by id, in seconds.
        seconds: a list of the durations of finished jobs.
        failed: the number of failed jobs.
    """

    total: int
    running: dict[int, float] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    failed: int = 0

    def left(self, now: float) -> float | None:
        """Estimate the remaining seconds if as many jobs run at a time.

        Returns None if no job has finished.

        Args:
            now: the time in seconds.
        """
        if not self.seconds:
            return None
        mean = sum(self.seconds) / len(self.seconds)
        waiting = self.total - len(self.seconds) - self.failed - len(self.running)
        begun = sum(max(mean - (now - start), 0.0) for start in self.running.values())
        return (mean * max(waiting, 0) + begun) / max(len(self.running), 1)


class LogHandler(LogHandlerBase):
    """A handler of all log records.

    It draws a live table on a terminal, and otherwise prints a line per finished stage.
    """

    def __post_init__(self) -> None:
        """Open the console; nothing is drawn before a job runs."""
        self.console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self.stages: dict[str, StageProgress] = {}
        self.jobs: dict[int, tuple[str, str]] = {}
        self.logs: dict[int, list[str]] = {}
        self.live: Live | None = None
        self.commands = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Tell one record."""
        try:
            self._tell(getattr(record, "event", None), vars(record), record)
        except Exception:
            self.handleError(record)

    def _tell(self, event: LogEvent | None, said: Mapping[str, Any], record: logging.LogRecord) -> None:
        if event == LogEvent.RUN_INFO and not self.commands:
            self._plan(said["stats"] if "stats" in said else said["per_rule_job_counts"])
        elif event == LogEvent.SHELLCMD and self.common_settings.dryrun:
            self._command(str(said["shellcmd"]))
        elif event == LogEvent.JOB_INFO and not self.common_settings.dryrun:
            self._start(said)
        elif event == LogEvent.JOB_FINISHED:
            self._end(said["job_id"], failed=False)
        elif event == LogEvent.JOB_ERROR:
            self._end(said["jobid"], failed=True)
            self._failure(said)
        elif event in (None, LogEvent.ERROR) and self._is_user_message(record):
            self.console.print(record.getMessage(), style="red" if record.levelno >= logging.ERROR else None)

    @staticmethod
    def _is_user_message(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        loud = record.levelno >= logging.WARNING or getattr(record, "event", None) == LogEvent.ERROR
        return (loud and not text.startswith(HIDDEN)) or text.startswith(TOLD)

    def _plan(self, counts: Mapping[str, int]) -> None:
        totals = dict.fromkeys(STAGES, 0)
        for rule, count in counts.items():
            if rule in STAGE_OF:
                totals[STAGE_OF[rule]] += count
        self.stages = {name: StageProgress(count) for name, count in totals.items() if count}
        summary = ", ".join(f"{name} {stage.total:,}" for name, stage in self.stages.items())
        if summary:
            count = sum(totals.values())
            self.console.print(f"{count:,} {'job' if count == 1 else 'jobs'}: {summary}")

    def _command(self, text: str) -> None:
        """Print a command of a dry run, if it is one of the first."""
        self.commands += 1
        command = COMMAND.search(" ".join(text.split()))
        if command and self.commands <= COMMANDS:
            self.console.print(command[0])

    def _start(self, said: Mapping[str, Any]) -> None:
        stage = STAGE_OF.get(said["rule_name"])
        if stage not in self.stages:
            return
        wildcards = " ".join(map(str, (said.get("wildcards") or {}).values()))
        self.jobs[said["jobid"]] = (stage, f"{said['rule_name']} {wildcards}".strip())
        self.logs[said["jobid"]] = [str(file) for file in said.get("log") or ()]
        self.stages[stage].running[said["jobid"]] = time.monotonic()
        self._show()

    def _end(self, job: int, failed: bool) -> None:
        name = self.jobs.get(job, ("", ""))[0]
        stage = self.stages.get(name)
        start = stage.running.pop(job, None) if stage else None
        if stage is None or start is None:
            return
        if not failed:
            stage.seconds.append(time.monotonic() - start)
            if len(stage.seconds) == stage.total and not self.console.is_terminal:
                self.console.print(f"{name}: {stage.total:,} of {stage.total:,} done")
        self._show()

    def _failure(self, said: Mapping[str, Any]) -> None:
        logs = [str(file) for file in said.get("log") or ()]
        name = self.jobs.get(said["jobid"], ("", said.get("rule_name", "job")))[1]
        texts = (
            Path(file).read_text(encoding="utf-8", errors="replace") for file in logs if Path(file).is_file()
        )
        lines = [line for text in texts for line in text.splitlines()[-TAIL:]]
        if lines and NO_FAILURE.search(lines[-1]):
            self.console.print(f"{name}: interrupted")
            return
        self.console.print(f"✗ {name} failed{': ' + ', '.join(logs) if logs else ''}", style="red")
        self.console.print("\n".join(f"    {line}" for line in lines))

    def _show(self) -> None:
        """Draw the table while a job runs, so that other output has its place."""
        if not self.console.is_terminal:
            return
        running = any(stage.running for stage in self.stages.values())
        if running and self.live is None:
            self.live = Live(
                get_renderable=self._table, console=self.console, refresh_per_second=2, transient=True
            )
            self.live.start()
        elif not running:
            self.close()

    def _table(self) -> Group:
        """Return a line per stage, and one per training that runs."""
        return Group(self._stages(), *map(Text, islice(self._trainings(), TRAININGS)))

    def _trainings(self) -> Iterator[str]:
        for job in self.stages["train"].running if "train" in self.stages else ():
            for file in self.logs.get(job, ()):
                progress = progress_text(alive(file) or {})
                if progress:
                    yield f"  {Path(file).stem}: {progress}"

    def _stages(self) -> Table:
        table = Table.grid(padding=(0, 2))
        now = time.monotonic()
        for name, stage in self.stages.items():
            done = len(stage.seconds)
            left = stage.left(now) if done < stage.total else None
            table.add_row(
                name,
                ProgressBar(stage.total, done, width=BAR),
                f"{done:,} of {stage.total:,}",
                f"{len(stage.running)} running" if stage.running else "",
                f"{span(left)} left" if left is not None else "",
            )
        return table

    def close(self) -> None:
        """Take the table away."""
        if self.live is not None:
            self.live.stop()
            self.live = None
            if not any(stage.running for stage in self.stages.values()) and sys.stderr.isatty():
                self.console.print(self._table())
        super().close()

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False
