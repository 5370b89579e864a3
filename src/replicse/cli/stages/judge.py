"""The stage that judges what all items say together."""

import logging
from argparse import Namespace

from replicse.cli.stages import Stage, StudyJob
from replicse.files import write_json, write_rows
from replicse.judge.study import judge_study, judged_tables, read_results
from replicse.registry.artefacts import JUDGEMENTS

log = logging.getLogger(__name__)


def judge(job: StudyJob, arguments: Namespace) -> None:
    """Write what all tabulated items say together: claims, adjudication, audit and cells as CSV, and as one JSON."""
    plan = job.compiled()
    results = read_results(plan)
    judgements = judge_study(plan, results)
    for name, (fields, rows) in judged_tables(judgements, results).items():
        log.info("%s=%d", name, write_rows(arguments.out / f"{name}.csv", fields, rows))
    write_json(arguments.out / JUDGEMENTS, judgements.plain())


STAGE = Stage(StudyJob.of, judge)
