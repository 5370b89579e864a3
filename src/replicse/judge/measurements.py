"""Measurements: what was measured of a study's encoders, the only way from evaluation files to the values of cells."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

from replicse.compile.item_plan import ItemPlan
from replicse.compile.job_states import JobStates
from replicse.compile.paths import Paths
from replicse.compile.specifications import is_as_written
from replicse.compile.study import Cell, Study
from replicse.errors import BadInput
from replicse.files import read_json, sha256_of
from replicse.judge.evaluation import (
    check_evaluation,
    check_set_tables,
    checked_record,
    part_at,
    read_evaluation,
)
from replicse.judge.machines import Machine, distinct, recorded
from replicse.registry.artefacts import PROVENANCE
from replicse.registry.suites import file_of

LOG = logging.getLogger(__name__)
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured of one encoder at a metric path, `suite/...`, of which a suite alone is the shortest.

    `value` is None where it is missing; `failure` says why, unless it was only not run. `bounds` are those of a
    correlation over resampled test pairs; `provenance` is the record of what it was made with; `half_digit` is half a
    unit of the last digit of a value that somebody else has rounded.
    """

    encoder: str
    metric_path: str
    value: Any = None
    failure: str = ""
    bounds: tuple[float, float] | None = None
    provenance: Record = field(default_factory=dict)
    half_digit: float = 0.0


class Measurements:
    """The measurements of a study: each file is read once and held to the encoder that the study has in its place.

    With the `jobs` of the study not all of it need be there: what a broken file or a failed job keeps away has that as
    its failure. Without them BadInput names a broken file. `paths` are those of a committed study.
    """

    def __init__(
        self, study: Study | ItemPlan, jobs: JobStates | None = None, paths: Paths | None = None
    ) -> None:
        # The plan of an item has those members of a study that measuring needs.
        self.study = cast(Study, study)
        self.jobs, self.paths = jobs, paths or study.paths
        # file -> what is wrong with it
        self.broken: dict[str, str] = {}
        self._evaluations: dict[str, Record | None] = {}
        self._training: dict[str, Record] = {}

    def at(self, encoder: str, metric_path: str) -> Measurement:
        """Return what is measured of an encoder at a metric path."""
        evaluation = self.evaluation(file := self.paths.evaluation(encoder, file_of(metric_path)))
        if evaluation is None:
            return Measurement(encoder, metric_path, failure=self._why_absent(file))
        suites, (task, _, aggregation) = evaluation["suites"], metric_path.rpartition("/")
        low, high = (part_at(suites, f"{task}/{name}") for name in ("low", "high"))
        return Measurement(
            encoder,
            metric_path,
            value=part_at(suites, metric_path),
            failure=evaluation.get("failures", {}).get(metric_path, ""),
            bounds=(low, high) if task and aggregation == "all" and None not in (low, high) else None,
            provenance=evaluation.get("provenance", {}),
        )

    def is_seedless(self, cell: Cell) -> bool:
        """Return whether no value of a cell depends on a seed: the encoder was not trained for it."""
        return cell.seeds == (None,)

    def records_behind(self, cell: Cell) -> list[Record]:
        """Return the records of what a cell reads: of its evaluations, its runs, and the runs that those depend on."""
        # What is counted from the data is the same everywhere.
        read = {
            (encoder, operand.metric_path)
            for operand in cell.operands or (cell,)
            if operand.metric_path
            for encoder in operand.encoders
            if encoder != "data"
        }
        runs = [run for encoder, _ in read if (run := self.study.run_name(encoder))]
        evaluations = (self.evaluation(self.paths.evaluation(each, file_of(path))) for each, path in read)
        records = [evaluation.get("provenance", {}) if evaluation else {} for evaluation in evaluations]
        return [*records, *map(self.training_record, self.study.chain(runs))]

    def training_record(self, run: str) -> Record:
        """Return the record of what a run was trained with; nothing where it is absent."""
        if run not in self._training:
            file = self.paths.run(run, PROVENANCE)
            remedy = "delete the folders of the run and of its encoders, and run the study again"
            record = self._checked(file, lambda: checked_record(read_json(file), file, remedy))
            self._training[run] = record or {}
        return self._training[run]

    def evaluation(self, file: str) -> Record | None:
        """Return the content of an evaluation file, None where it is absent.

        What contradicts its place, its own parts, or where a metric lies is broken.
        """
        if file not in self._evaluations:
            encoder, group = Path(file).parent.name, Path(file).stem
            place, asked = self.study.evaluated(encoder, group), self._asked.get((encoder, group), ())
            partly = self.jobs is not None
            self._evaluations[file] = self._checked(file, lambda: self._read(file, place, asked, partly))
        return self._evaluations[file]

    def _read(self, file: str, place: Record, asked: Iterable[str], partly: bool) -> Record:
        """Read an evaluation, and check its pairs unless it is the file that its job has written and checked."""
        if not is_as_written(Path(file)):
            return read_evaluation(file, place, self._set_tables, asked, partly)
        evaluation: Record = read_json(file)
        check_evaluation(evaluation, file, place, asked, partly)
        check_set_tables(evaluation, file, self._set_tables)
        return evaluation

    @cached_property
    def _set_tables(self) -> dict[str, tuple[str, str]]:
        """Return file and sha256 of the table of each own set that is there, by name."""
        files = {name: one.get("file", "") for name, one in self.study.own_sets.items()}
        return {name: (file, sha256_of(file)) for name, file in files.items() if Path(file).is_file()}

    @cached_property
    def _asked(self) -> dict[tuple[str, str], set[str]]:
        """Return the metric paths that cells read of each encoder, by its name and the group of suites."""
        asked: dict[tuple[str, str], set[str]] = {}
        for cell in chain.from_iterable(self.study.cells.values()):
            for operand in cell.operands or (cell,):
                for encoder in operand.encoders if operand.metric_path else ():
                    key = encoder, file_of(operand.metric_path)
                    asked.setdefault(key, set()).add(operand.metric_path)
        return asked

    def _checked(self, file: str, read: Callable[[], Record]) -> Record | None:
        try:
            return read() if Path(file).exists() else None
        except BadInput as error:
            if self.jobs is None:
                raise
            self.broken[file] = str(error)
            LOG.warning("%s", error)
            return None

    def _why_absent(self, file: str) -> str:
        """Return why an evaluation is not there; blank where nothing has tried to make it, or nobody asks."""
        if file in self.broken or self.jobs is None:
            return self.broken.get(file, "")
        return "; ".join(
            f"{job} failed: {job.tail[-1] if job.tail else 'its log is empty'} ({job.log})"
            for job in self.jobs.failed(file)
        )


def study_machines(study: Study, measurements: Measurements) -> Counter[Machine]:
    """Return how many runs and evaluations of a study each machine made, of those that are there and not broken."""
    records = [measurements.training_record(run) for run in study.runs]
    for encoder in set(study.suites) - {"data"}:
        groups = [suites[0] for suites in study.groups(encoder).values()]
        groups += ["trajectory"] if "trajectory" in study.suites[encoder] else []
        records += [measurements.at(encoder, suite).provenance for suite in groups]
    return distinct(machine for record in records for machine in recorded(record))
