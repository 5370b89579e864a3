"""The stage that judges what all items say together."""

from argparse import Namespace

from replicse.cli.render import write_judgements
from replicse.cli.stages import Stage, StudyJob
from replicse.files import write_json
from replicse.judge.study import read_results
from replicse.registry.artefacts import JUDGEMENTS


def judge(job: StudyJob, arguments: Namespace) -> None:
    """Write what all tabulated items say together: claims, adjudication, audit and cells as CSV, and as one JSON."""
    plan = job.compiled()
    judgements = write_judgements(plan, read_results(plan), arguments.out)
    write_json(arguments.out / JUDGEMENTS, judgements.plain())


STAGE = Stage(StudyJob.of, judge)
