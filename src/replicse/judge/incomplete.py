"""What there is of a study that did not run to its end: each cell that is missing says why."""

from collections.abc import Sequence

from replicse.judge.measurements import Measurements
from replicse.judge.report import FailedJob, Incomplete
from replicse.spec.tables import Item


def incomplete_items(items: Sequence[Item], measurements: Measurements) -> list[Incomplete]:
    """Return the items of which an evaluation is missing or broken, in their order; measurements have their jobs."""
    incomplete = []
    for item in items:
        files = measurements.study.evaluation_files(item)
        missing = [file for file in files if measurements.evaluation(file) is None]
        if missing:
            jobs = measurements.jobs
            failed = dict.fromkeys(job for file in missing for job in (jobs.failed(file) if jobs else ()))
            broken = tuple(measurements.broken[file] for file in missing if file in measurements.broken)
            ended = tuple(FailedJob(str(job), job.log, job.tail, job.remedy) for job in failed)
            incomplete.append(Incomplete(item.id, len(missing), len(files), ended, broken))
    return incomplete
