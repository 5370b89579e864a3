"""A job of the workflow: its files and log by name, what it is given, and what its outputs are made from."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.compile.paths import Paths
from replicse.provenance.source import named_in
from replicse.registry.artefacts import ENCODER, METRICS, OFFSETS, PROVENANCE, STORE, TOKENS, WEIGHTS
from replicse.registry.encoders import CHECKPOINTS
from replicse.registry.plugins import unit_of

Outputs = dict[str, Any]
JUDGED = ("claims", "adjudication", "audit")
DRAWINGS = ("svg", "png", "pdf")
TAIL, LONGEST = 4, 400
# Stages that are told a folder.
FOLDERS = ("backbone", "store", "judge")
AGAIN = "then give the same command again: what is done is kept"


@dataclass(frozen=True, eq=False)
class Job:
    """One job of the workflow: what is done of a stage for an `id`, blank where the stage has one job.

    `inputs` are the files that it reads, `named` those that it writes by their names in the rule, `payload` what it is
    given, `modules` the code that its outputs come from (`module` or `module:name`), `specs` checked data that name
    more of it, `files` plain data that names the files below the data root that it reads. `texts` is the paper whose
    files it is judged by, all papers where that is blank, or one file of the workflow that says how it is shown; none
    where it is None.
    """

    stage: str
    id: str
    inputs: tuple[str, ...]
    named: Mapping[str, Any]
    log: str
    payload: Mapping[str, Any]
    modules: frozenset[str]
    specs: tuple[object, ...] = ()
    files: Mapping[str, Any] = field(default_factory=dict)
    texts: str | None = None

    def __str__(self) -> str:
        return f"{self.stage} {self.id}".strip()

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Return the files that it writes."""
        several = ([files] if isinstance(files, str) else files for files in self.named.values())
        return tuple(file for files in several for file in files)

    @property
    def out(self) -> Path:
        """Return the file, or of several the folder, that it writes."""
        first = Path(self.outputs[0])
        return first.parents[1] if self.stage == "train" else first.parent if self.stage in FOLDERS else first

    @cached_property
    def code(self) -> frozenset[str]:
        """Return the modules, or names in them, that its numbers come from; of a plug-in all of it."""
        return frozenset(map(unit_of, self.modules | named_in(self.specs)))

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
        lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
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
        if self.tail and "error" in self.tail[-1].lower():
            return f"fix what its log names, {AGAIN}"
        return f"no error in its log; probably killed: raise its memory or time limit, {AGAIN}"


def _by_name(files: Iterable[str]) -> Outputs:
    return {Path(file).name.partition(".")[0]: file for file in files}


def _trained(paths: Paths, run: str) -> Outputs:
    weights = {which: f"{paths.run(run, which)}/{WEIGHTS}" for which in CHECKPOINTS}
    return weights | _by_name(paths.run(run, record) for record in (METRICS, PROVENANCE))


def _drawn(paths: Paths, item: str) -> Outputs:
    return {kind: paths.figure(item, kind) for kind in DRAWINGS} | {"data": paths.figure(item, "csv")}


def _reported(paths: Paths, papers: Iterable[str], items: Iterable[str]) -> Outputs:
    return {
        "html": paths.report("html"),
        "document": paths.report("json"),
        "audit": paths.audit,
        "papers": [paths.paper(key) for key in papers],
        "markdown": paths.report("md"),
        "tex": paths.report("tex"),
        "macros": paths.printed("macros", "tex"),
        "printed": [paths.printed(item, kind) for item in items for kind in ("tex", "md", "csv")],
    }


OUTPUTS: dict[str, Callable[..., Outputs]] = {
    "data": lambda paths: {"record": paths.data},
    "tokenizer": lambda paths, name: {"file": paths.tokenizer(name)},
    "backbone": lambda paths, name: _by_name(paths.backbone(name, file) for file in ENCODER),
    "store": lambda paths, name: _by_name(paths.store(name, file) for file in (STORE, TOKENS, OFFSETS)),
    "train": _trained,
    "evaluate": lambda paths, encoder, group: {"scores": paths.evaluation(encoder, group)},
    "geometry": lambda paths, encoder: {"scores": paths.evaluation(encoder, "trajectory")},
    "count": lambda paths: {"scores": paths.evaluation("data", "counts")},
    "config": lambda paths: {"config": paths.config},
    "tabulate": lambda paths, item: {"result": paths.item(item), "table": paths.table(item)},
    "judge": lambda paths: {
        **{what: paths.judged(what) for what in JUDGED},
        "cells": paths.judged("cells"),
        "judgements": paths.judgements,
    },
    "figures": _drawn,
    "study": lambda paths: {"record": paths.record},
    "page": lambda paths, item: {"html": paths.page(item), "tex": paths.page(item, "tex")},
    "report": _reported,
}


def outputs_of(paths: Paths, stage: str, *parts: Any) -> Outputs:
    """Return the files of a job by their names in its rule; parts may be the rule's wildcards."""
    return OUTPUTS[stage](paths, *parts)


def log_of(paths: Paths, stage: str, *parts: str) -> str:
    """Return the log of a job; parts may be the rule's wildcards."""
    return "/".join([paths.logs, *filter(None, [stage, ".".join(parts)])]) + ".log"
