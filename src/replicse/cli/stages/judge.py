"""The stage that judges what all items say together."""

import logging
from argparse import Namespace

from replicse.cli.stages import Stage, StudyJob
from replicse.files import write_rows
from replicse.judge.study import judge_study, read_results

log = logging.getLogger(__name__)


def judge(job: StudyJob, arguments: Namespace) -> None:
    """Write what all tabulated items say together: claims.csv, adjudication.csv, audit.csv and cells.csv."""
    plan = job.compiled()
    for name, (fields, rows) in judge_study(plan, read_results(plan)).items():
        log.info("%s=%d", name, write_rows(arguments.out / f"{name}.csv", fields, rows))


STAGE = Stage(StudyJob.of, judge)
