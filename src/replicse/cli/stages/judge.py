"""The stage `judge`: judge all items together."""

from argparse import Namespace

from replicse.cli.render import write_judgements
from replicse.cli.stages import Stage, StudyJob
from replicse.files import write_json
from replicse.judge.report.judge_study import read_results


def judge(job: StudyJob, arguments: Namespace) -> None:
    """Judge all tabulated items together and write CSV and JSON."""
    study = job.load_study()
    judgements = write_judgements(study, read_results(study), arguments.out.parent)
    write_json(arguments.out, judgements.plain())


STAGE = Stage(StudyJob.of, judge)
