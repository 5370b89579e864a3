"""The jobs that evaluations stand on: what each reads, makes and logs, and which of them failed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.printable import visible
from replicse.runtime.progress import alive
from replicse.study.plan.plan import Plan

TAIL, LONGEST = 4, 400
AGAIN = "then give the same command again: what is done is kept"


@dataclass(frozen=True)
class Job:
    """One job of the workflow; `outputs` are those of its files that others read, `needs` what it reads."""

    stage: str
    name: str
    outputs: tuple[str, ...]
    needs: tuple[str, ...]
    log: str

    def __str__(self) -> str:
        return f"{self.stage} {self.name}".strip()

    @property
    def done(self) -> bool:
        """Return whether all that it makes is there."""
        return all(Path(file).exists() for file in self.outputs)

    @cached_property
    def tail(self) -> tuple[str, ...]:
        """Return the last lines of its log; nothing where it wrote none."""
        try:
            text = Path(self.log).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ()
        lines = [line.strip() for line in visible(text.replace("\r", "\n")).splitlines() if line.strip()]
        return tuple(line if len(line) <= LONGEST else f"{line[:LONGEST]} ..." for line in lines[-TAIL:])

    @property
    def age(self) -> float:
        """Return how many seconds ago its log was last written."""
        return time.time() - Path(self.log).stat().st_mtime

    @property
    def remedy(self) -> str:
        """Return what to do about its failure."""
        if self.tail and self.tail[-1].startswith("replicse "):
            return f"do what its last line says, {AGAIN}"
        if self.tail and "Error" in self.tail[-1]:
            return f"mend what its log names, {AGAIN}"
        return f"its log names no error, as where memory or time ran out: give it more of them, {AGAIN}"


class Jobs:
    """The jobs of a plan by the files they make; `since` (seconds of the epoch) is when the study was started."""

    def __init__(self, plan: Plan, since: float = 0.0) -> None:
        self.since = since
        self.all = tuple(_jobs(plan))
        self._making = {file: job for job in self.all for file in job.outputs}
        self._states: dict[str, str] = {}
        self._failed: dict[str, tuple[Job, ...]] = {}

    def began(self, job: Job) -> bool:
        """Return whether a job that is not done was started: it left a log, and what it had made is taken away."""
        log = Path(job.log)
        return not job.done and log.exists() and log.stat().st_mtime >= self.since

    def running(self, job: Job) -> dict[str, Any] | None:
        """Return the heartbeat of a job that runs, here or on another machine."""
        return alive(job.log) if self.began(job) else None

    def state(self, file: str) -> str:
        """Return how it stands with a file: done, or whether a job it needs has failed or runs, or it waits."""
        job = self._making.get(file)
        if file not in self._states:
            if job is None or job.done:
                found = "done" if Path(file).exists() else "waiting"
            elif self.began(job):
                found = "running" if self.running(job) else "failed"
            else:
                needed = {self.state(need) for need in job.needs}
                found = next((state for state in ("failed", "running") if state in needed), "waiting")
            self._states[file] = found
        return self._states[file]

    def failed(self, file: str) -> tuple[Job, ...]:
        """Return the jobs whose failure keeps a file from being there; none where nothing was tried."""
        if file not in self._failed:
            job = self._making.get(file)
            found: tuple[Job, ...] = ()
            if job and not job.done:
                found = tuple(dict.fromkeys(each for need in job.needs for each in self.failed(need)))
                found = found or ((job,) if self.began(job) else ())
            self._failed[file] = found
        return self._failed[file]


def _jobs(plan: Plan) -> Iterator[Job]:
    """Yield every job in the order in which one can need another; the rules name the same files and logs."""
    paths, logs = plan.paths, f"logs/{plan.scale.name}"
    data = paths.data
    yield Job("data", "", (data,), (), f"{logs}/data.log")
    for name in plan.tokenizers:
        yield Job("tokenizer", name, (paths.tokenizer(name),), (data,), f"{logs}/tokenizer/{name}.log")
    for name in plan.backbones:
        made = tuple(paths.backbone(name, file) for file in ("model.safetensors", "tokenizer.json"))
        yield Job("backbone", name, made, (data,), f"{logs}/backbone/{name}.log")
    for name, spec in plan.stores.items():
        needs = (data, spec["tokenizer"], *plan.store_needs(name))
        yield Job("store", name, (paths.store(name, "store.json"),), needs, f"{logs}/store/{name}.log")
    for run in plan.runs:
        made = ("best/model.safetensors", "last/model.safetensors", "metrics.json")
        outputs = tuple(paths.run(run, file) for file in made)
        yield Job("train", run, outputs, (data, *plan.train_needs(run)), f"{logs}/train/{run}.log")
    for name in set(plan.suites) - {"data"}:
        encoder = plan.encoders[name]
        weights = plan.encoder_needs(name)
        for group in plan.groups(name):
            made = (paths.evaluation(name, group),)
            yield Job(
                "evaluate", f"{name}.{group}", made, (data, *weights), f"{logs}/evaluate/{name}.{group}.log"
            )
        if "trajectory" in plan.suites[name]:
            kept = paths.run(encoder.source.run or "", "metrics.json")
            made = (paths.evaluation(name, "trajectory"),)
            yield Job("geometry", name, made, (data, kept), f"{logs}/geometry/{name}.log")
    if plan.counted:
        yield Job("count", "", (paths.evaluation("data", "counts"),), (data,), f"{logs}/count.log")
