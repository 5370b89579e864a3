"""The stage that reports what there is of a study that failed."""

from argparse import Namespace

from replicse.checked import Text
from replicse.cli.report import partial_lines, report_partly
from replicse.cli.stages import Stage, StudyJob


class FinishJob(StudyJob):
    """The config of a study that failed, the items that were asked for (none: all), and when it was started.

    A log from before that time (seconds of the epoch) is of no failure.
    """

    items: tuple[Text, ...] = ()
    since: float = 0.0


def finish(job: FinishJob, _: Namespace) -> int:
    """Report what there is of a study that did not run to its end."""
    plan = job.compiled()
    items = [plan.item(name) for name in job.items] or list(plan.items.values())
    lacking, written = report_partly(plan, items, job.since)
    print("\n".join(partial_lines(lacking, len(items), written)))
    return 1 if lacking else 0


STAGE = Stage(FinishJob.of, finish)
