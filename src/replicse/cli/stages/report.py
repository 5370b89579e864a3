"""The stage `report`: write the report of all items of a study."""

from argparse import Namespace
from pathlib import Path

from replicse.cli.render import read_study, study_facts, write_all
from replicse.cli.stages import Stage, StudyJob
from replicse.compile.paths import Paths, drop_partial
from replicse.files import read_json
from replicse.judge.report.judgements import Judgements
from replicse.judge.verdicts.table import ItemResult


def report(job: StudyJob, arguments: Namespace) -> None:
    """Write the report of all items of a study as HTML, Markdown and LaTeX."""
    study = read_study(Path(job.study))
    facts = study_facts(study, read_json(arguments.data))
    paths = Paths(study["scale"])
    judgements = Judgements.of(read_json(paths.judgements), paths.judgements)
    items = [ItemResult.read(paths.item(name)) for name in study["items"]]
    write_all(paths, facts, items, arguments.out.parent, judgements)
    drop_partial(study["scale"])


STAGE = Stage(StudyJob.of, report)
