"""What there is of a study that did not run to its end: each cell that is missing says why."""

from collections.abc import Sequence
from typing import Any

from replicse.compile.jobs import Jobs
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.judge.report import FailedJob, Incomplete
from replicse.judge.values import Evaluations
from replicse.registry.artefacts import PROVENANCE
from replicse.registry.suites import file_of
from replicse.spec.tables import Item


class AsFarAsDone(Evaluations):
    """Evaluations of which some are missing: a number of a job that failed is undefined with the end of its log."""

    def __init__(self, plan: Study, jobs: Jobs | None = None) -> None:
        super().__init__(plan)
        self.jobs = jobs or Jobs(plan)
        self.broken: dict[str, str] = {}

    def value(self, encoder: str, metric_path: str) -> tuple[Any, str]:
        """Return what is at a metric path and, where it is undefined or its file failed, the reason."""
        value, reason = super().value(encoder, metric_path)
        return value, reason or self.failure(self.paths.evaluation(encoder, file_of(metric_path)))

    def failure(self, path: str) -> str:
        """Return why an evaluation is not there; blank where it is, or where nothing has tried to make it."""
        self.read(path)
        if path in self.broken:
            return self.broken[path]
        return "; ".join(
            f"{job} failed: {job.tail[-1] if job.tail else 'its log is empty'} ({job.log})"
            for job in self.jobs.failed(path)
        )

    def read(self, path: str) -> dict[str, Any] | None:
        """Return an evaluation file's content, None where it is absent or broken; `broken` keeps the sentence."""
        try:
            return super().read(path)
        except BadInput as error:
            self._read[path] = None
            self.broken[path] = str(error)
            return None

    def training_record(self, run: str) -> Any:
        """Return what a run was trained with; nothing where its record is absent or broken."""
        try:
            return super().training_record(run)
        except BadInput as error:
            self._trained[run] = {}
            self.broken[self.paths.run(run, PROVENANCE)] = str(error)
            return {}


def incomplete_items(plan: Study, items: Sequence[Item], evaluations: AsFarAsDone) -> list[Incomplete]:
    """Return the items of which an evaluation is missing or broken, in their order."""
    incomplete = []
    for item in items:
        files = plan.evaluation_files(item)
        missing = [file for file in files if evaluations.read(file) is None]
        if missing:
            failed = dict.fromkeys(job for file in missing for job in evaluations.jobs.failed(file))
            broken = tuple(evaluations.broken[file] for file in missing if file in evaluations.broken)
            ended = tuple(FailedJob(str(job), job.log, job.tail, job.remedy) for job in failed)
            incomplete.append(Incomplete(item.id, len(missing), len(files), ended, broken))
    return incomplete
