"""Items with missing evaluations, and the reasons."""

from collections.abc import Sequence
from itertools import chain

from replicse.compile.job import Job
from replicse.judge.report.report_types import FailedJob, Incomplete
from replicse.judge.values.measurements import Measurements
from replicse.spec.tables import Item


def incomplete_items(items: Sequence[Item], measurements: Measurements) -> list[Incomplete]:
    """List the items with a missing or broken evaluation, in their order.

    Args:
        items: the items.
        measurements: the measurements of the study, with the states of its jobs.
    """
    incomplete = []
    for item in items:
        files = measurements.study.evaluation_files(item)
        missing = [file for file in files if measurements.evaluation(file) is None]
        if not missing:
            continue
        failed: dict[Job, None] = {}  # an ordered set
        if measurements.jobs:
            failed = dict.fromkeys(chain.from_iterable(map(measurements.jobs.failed, missing)))
        jobs = tuple(FailedJob(str(job), job.log, job.tail, job.remedy) for job in failed)
        broken = tuple(measurements.broken[file] for file in missing if file in measurements.broken)
        incomplete.append(Incomplete(item.id, len(missing), len(files), jobs, broken))
    return incomplete
