"""Measurements of a study, loaded from evaluation files."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

from replicse.compile.cell import Cell
from replicse.compile.copies import check_unchanged, read_unchanged
from replicse.compile.item_plan import ItemPlan
from replicse.compile.job_states import JobStates
from replicse.compile.paths import Paths
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.files import read_json, sha256_of
from replicse.judge.values.evaluation_files import (
    check_evaluation,
    check_set_tables,
    checked_record,
    part_at,
    read_evaluation,
)
from replicse.judge.values.machines import Machine, count_machines, recorded_machines
from replicse.registry.artefacts import PROVENANCE
from replicse.registry.suites import file_of

LOG = logging.getLogger(__name__)
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The value of an encoder at a metric path, or of a whole suite.

    By default, the value is missing, as in a study that was not run.

    Attributes:
        encoder: the name of the encoder.
        metric_path: the path of the metric, which begins with the suite.
        value: the value; None if it is missing.
        failure: why the value is missing; an empty string if it was not run.
        bounds: the interval of a correlation over resampled test pairs.
        provenance: the provenance record of the evaluation.
        half_digit: half a unit of the last digit of a published value; 0 for a value that is not rounded.
    """

    encoder: str
    metric_path: str
    value: Any = None
    failure: str = ""
    bounds: tuple[float, float] | None = None
    provenance: Record = field(default_factory=dict)
    half_digit: float = 0.0


class Measurements:
    """The measurements of a study.

    Each file is loaded once and compared with the encoder of the study. By default, a broken file raises BadInput.

    Args:
        study: the study, or the plan of an item.
        jobs: the states of the jobs of the study. With them, a broken file or a failed job becomes the failure of its
            measurements. Default: None.
        paths: the paths of a committed study. Default: the paths of `study`.
    """

    def __init__(
        self, study: Study | ItemPlan, jobs: JobStates | None = None, paths: Paths | None = None
    ) -> None:
        # The plan of an item has all attributes of a study that are used here.
        self.study = cast(Study, study)
        self.jobs, self.paths = jobs, paths or study.paths
        # file -> error message
        self.broken: dict[str, str] = {}
        self._evaluations: dict[str, Record | None] = {}
        self._training: dict[str, Record] = {}

    def at(self, encoder: str, metric_path: str) -> Measurement:
        """Return the measurement of an encoder at a metric path."""
        file = self.paths.evaluation(encoder, file_of(metric_path))
        evaluation = self.evaluation(file)
        if evaluation is None:
            return Measurement(encoder, metric_path, failure=self._why_missing(file))
        suites = evaluation["suites"]
        return Measurement(
            encoder,
            metric_path,
            value=part_at(suites, metric_path),
            failure=evaluation.get("failures", {}).get(metric_path, ""),
            bounds=_pair_bounds(suites, metric_path),
            provenance=evaluation.get("provenance", {}),
        )

    def is_seedless(self, cell: Cell) -> bool:
        """Return whether a cell does not depend on a seed."""
        return cell.seeds == (None,)

    def records_behind(self, cell: Cell) -> list[Record]:
        """Return the provenance records of the evaluations and runs of a cell.

        If a run starts from another run, the other record is included.
        """
        read: dict[tuple[str, str], None] = {}  # an ordered set
        for operand in cell.operands or (cell,):
            for encoder in operand.encoders:
                # Counts of datasets do not depend on the machine.
                if operand.metric_path and encoder != "data":
                    read[encoder, operand.metric_path] = None
        records, runs = [], []
        for encoder, path in read:
            evaluation = self.evaluation(self.paths.evaluation(encoder, file_of(path)))
            records.append(evaluation.get("provenance", {}) if evaluation else {})
            run = self.study.run_name(encoder)
            if run:
                runs.append(run)
        return [*records, *map(self.training_record, self.study.chain(runs))]

    def training_record(self, run: str) -> Record:
        """Return the provenance record of the training of a run.

        Returns an empty dict if the record does not exist.
        """
        if run not in self._training:
            file = self.paths.run(run, PROVENANCE)
            remedy = "delete the folders of the run and of its encoders, and run the study again"
            record = self._load(file, lambda: checked_record(read_unchanged(file), file, remedy))
            self._training[run] = record or {}
        return self._training[run]

    def evaluation(self, file: str) -> Record | None:
        """Return the content of an evaluation file.

        A file is broken if it contradicts the encoder of its folder, its averages, or the range of a metric. Returns
        None if the file does not exist or is broken.
        """
        if file not in self._evaluations:
            encoder, group = Path(file).parent.name, Path(file).stem
            place, paths = (
                self.study.evaluated(encoder, group),
                self._requested_paths.get((encoder, group), ()),
            )
            partly = self.jobs is not None
            self._evaluations[file] = self._load(file, lambda: self._read(file, place, paths, partly))
        return self._evaluations[file]

    def _read(self, file: str, place: Record, metric_paths: Iterable[str], partly: bool) -> Record:
        """Load an evaluation.

        The pairs are not checked if the file is unchanged, because the job already checked them.
        """
        if not check_unchanged(file):
            return read_evaluation(file, place, self._set_tables, metric_paths, partly)
        evaluation: Record = read_json(file)
        check_evaluation(evaluation, file, place, metric_paths, partly)
        check_set_tables(evaluation, file, self._set_tables)
        return evaluation

    @cached_property
    def _set_tables(self) -> dict[str, tuple[str, str]]:
        """Return file and sha256 of the table of each user's dataset, by name."""
        tables = {}
        for name, one in self.study.own_sets.items():
            file = one.get("file", "")
            if Path(file).is_file():
                tables[name] = (file, sha256_of(file))
        return tables

    @cached_property
    def _requested_paths(self) -> dict[tuple[str, str], set[str]]:
        """Return the metric paths of cells, by encoder and group of suites."""
        requested: dict[tuple[str, str], set[str]] = {}
        for cell in chain.from_iterable(self.study.cells.values()):
            for operand in cell.operands or (cell,):
                if not operand.metric_path:
                    continue
                group = file_of(operand.metric_path)
                for encoder in operand.encoders:
                    requested.setdefault((encoder, group), set()).add(operand.metric_path)
        return requested

    def _load(self, file: str, read: Callable[[], Record]) -> Record | None:
        """Load a file if it exists.

        If the states of jobs are known, an error is logged instead of raised.
        """
        try:
            return read() if Path(file).exists() else None
        except BadInput as error:
            if self.jobs is None:
                raise
            self.broken[file] = str(error)
            LOG.warning("%s", error)
            return None

    def _why_missing(self, file: str) -> str:
        """Return why an evaluation is missing.

        Returns an empty string if no job failed, or if the states of jobs are unknown.
        """
        if file in self.broken or self.jobs is None:
            return self.broken.get(file, "")
        failures = []
        for job in self.jobs.failed(file):
            last_line = job.tail[-1] if job.tail else "the log is empty"
            failures.append(f"{job} failed: {last_line} ({job.log})")
        return "; ".join(failures)


def _pair_bounds(suites: Record, metric_path: str) -> tuple[float, float] | None:
    """Return the interval of a correlation over resampled pairs.

    Returns None for metrics other than `all`.
    """
    task, _, aggregation = metric_path.rpartition("/")
    low, high = part_at(suites, f"{task}/low"), part_at(suites, f"{task}/high")
    if not task or aggregation != "all" or low is None or high is None:
        return None
    return low, high


def study_machines(study: Study, measurements: Measurements) -> Counter[Machine]:
    """Count the runs and evaluations of a study by machine.

    Missing and broken files are skipped.

    Args:
        study: the study.
        measurements: its measurements.
    """
    records = [measurements.training_record(run) for run in study.runs]
    for encoder in set(study.suites) - {"data"}:
        for suites in study.groups(encoder).values():
            records.append(measurements.at(encoder, suites[0]).provenance)
    return count_machines(chain.from_iterable(map(recorded_machines, records)))
