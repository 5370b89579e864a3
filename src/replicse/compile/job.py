"""A job of the workflow: payload, input and output files, and state."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.compile.paths import Paths
from replicse.registry.artefacts import (
    DISCARDED,
    ENCODER,
    METRICS,
    OFFSETS,
    PROVENANCE,
    STORE,
    TOKENS,
    WEIGHTS,
)
from replicse.registry.encoders import CHECKPOINTS

JUDGED = ("claims", "adjudication", "audit")
DRAWINGS = ("svg", "png", "pdf")
TAIL, LONGEST = 4, 400
TRACEBACK = "Traceback (most recent call last):"
# Stages whose jobs write a separate folder without other files.
FOLDERS = ("backbone", "store", "train")
# The copy of the specification in such a folder, and the suffix of the copy next to another output.
COPY, SUFFIX = "job.json", ".job"
AGAIN = "then give the same command again: finished jobs are kept"


@dataclass(frozen=True, eq=False)
class Job:
    """A job of the workflow.

    Args:
        stage: the stage, such as `train`.
        id: the name of the job within the stage; empty if the stage has a single job.
        inputs: the files that the job reads, in addition to the specification.
        outputs: the files that the job writes, in addition to the copy of the specification.
        log: the log file.
        text: JSON with `payload`, the data for the code of the stage, and `settings`, the checked data with every
            default.
        code: the modules that change the outputs; a plug-in is a single unit. Default: empty.
        files: a dict with the names of files below the data root. Default: empty.
        reads_sets: whether the job loads the evaluation datasets of the data root. Default: False.
        texts: the files of the workflow that the job reads: `papers` for all papers, or the name of a file. Default:
            empty.
    """

    stage: str
    id: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    text: str
    code: frozenset[str] = frozenset()
    files: Mapping[str, Any] = field(default_factory=dict)
    reads_sets: bool = False
    texts: str = ""

    def __str__(self) -> str:
        return f"{self.stage} {self.id}".strip()

    @property
    def payload(self) -> dict[str, Any]:
        """Return the data for the code of the stage."""
        payload: dict[str, Any] = json.loads(self.text)["payload"]
        return payload

    @property
    def out(self) -> Path:
        """Return the output file, or the folder of several output files."""
        return output_place(self.stage, self.outputs)

    @property
    def copy(self) -> Path:
        """Return the copy of the specification next to the outputs.

        The job writes the copy when it has finished.
        """
        return copy_of(self.stage, self.out)

    @property
    def dated(self) -> tuple[str, ...]:
        """Return the files whose dates Snakemake compares with the inputs.

        The files are the outputs and the copy of the specification.
        """
        return (*self.outputs, str(self.copy))

    @property
    def done(self) -> bool:
        """Return whether the job is done.

        A job is done if all outputs exist, or if a complete study has removed the weights.
        """
        if all(Path(file).exists() for file in self.outputs):
            return True
        return self.stage == "train" and (self.out / DISCARDED).exists() and self.copy.exists()

    @cached_property
    def _lines(self) -> list[str]:
        """Return the lines of the log; empty if it does not exist."""
        try:
            text = Path(self.log).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]

    @property
    def tail(self) -> tuple[str, ...]:
        """Return the last lines of the log; empty if it does not exist."""
        return tuple(map(_shorten, self._lines[-TAIL:]))

    @property
    def age(self) -> float:
        """Return how many seconds ago the log was last written."""
        return time.time() - Path(self.log).stat().st_mtime

    @property
    def remedy(self) -> str:
        """Return the remedy for a failure of the job."""
        if self.tail and self.tail[-1].startswith("replicse "):
            return f"follow the last line of the log, {AGAIN}"
        # The message of an exception can have several lines, so that the last line does not name the error.
        if self.tail and ("error" in self.tail[-1].lower() or TRACEBACK in self._lines):
            return f"fix the error in the log, {AGAIN}"
        killed = "the log has no error, so the job was probably killed"
        return f"{killed}: raise the memory or time limit, {AGAIN}"


def _shorten(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def output_place(stage: str, outputs: Sequence[str]) -> Path:
    """Return the output file or folder of a job of a stage.

    Args:
        stage: the stage; `backbone`, `store` and `train` write a folder.
        outputs: the output files of the job.
    """
    first = Path(outputs[0])
    if stage == "train":
        return first.parents[1]
    return first.parent if stage in FOLDERS else first


def copy_of(stage: str, out: Path) -> Path:
    """Return the path of the copy of a specification.

    Args:
        stage: the stage of the job.
        out: the file or folder that the job writes.

    Returns:
        A file in the folder, or next to the file.
    """
    return out / COPY if stage in FOLDERS else out.with_name(f"{out.name}{SUFFIX}")


def outputs_of(paths: Paths, stage: str, *parts: Any) -> tuple[str, ...]:
    """Return the output files of a job of a stage.

    The rules of the workflow have the same files.

    Args:
        paths: the paths of the study.
        stage: the stage, such as "train".
        parts: the parts of the job's id; for the stage `report` the papers and the items.

    Returns:
        The paths as strings.
    """
    return tuple(_OUTPUTS[stage](paths, *parts))


def log_of(paths: Paths, stage: str, name: str = "") -> str:
    """Return the log of a job.

    Args:
        paths: the paths of the study.
        stage: the stage.
        name: the id of the job. Default: empty, for a stage with a single job.
    """
    return "/".join([paths.logs, *filter(None, [stage, name])]) + ".log"


def _prepared(paths: Paths, name: str) -> Iterator[str]:
    for file in ENCODER:
        yield paths.backbone(name, file)


def _stored(paths: Paths, name: str) -> Iterator[str]:
    for file in (STORE, TOKENS, OFFSETS):
        yield paths.store(name, file)


def _trained(paths: Paths, run: str) -> Iterator[str]:
    for which in CHECKPOINTS:
        yield f"{paths.run(run, which)}/{WEIGHTS}"
    yield paths.run(run, METRICS)
    yield paths.run(run, PROVENANCE)


def _drawn(paths: Paths, item: str) -> Iterator[str]:
    for kind in (*DRAWINGS, "csv"):
        yield paths.figure(item, kind)


def _judged(paths: Paths) -> Iterator[str]:
    yield paths.judgements
    for what in (*JUDGED, "cells"):
        yield paths.judged(what)


def _reported(paths: Paths, papers: Iterable[str], items: Iterable[str]) -> Iterator[str]:
    for kind in ("html", "json", "md", "tex"):
        yield paths.report(kind)
    yield paths.audit
    yield paths.printed("macros", "tex")
    for key in papers:
        yield paths.paper(key)
    for item in items:
        for kind in ("tex", "md", "csv"):
            yield paths.printed(item, kind)


_OUTPUTS: dict[str, Any] = {
    "data": lambda paths: [paths.data],
    "tokenizer": lambda paths, name: [paths.tokenizer(name)],
    "backbone": _prepared,
    "store": _stored,
    "train": _trained,
    "evaluate": lambda paths, encoder, group: [paths.evaluation(encoder, group)],
    "geometry": lambda paths, encoder: [paths.evaluation(encoder, "trajectory")],
    "count": lambda paths: [paths.evaluation("data", "counts")],
    "study": lambda paths: [paths.record, paths.config],
    "tabulate": lambda paths, item: [paths.item(item), paths.table(item)],
    "judge": _judged,
    "figures": _drawn,
    "page": lambda paths, item: [paths.page(item), paths.page(item, "tex")],
    "report": _reported,
}
