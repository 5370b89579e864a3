"""The stage that writes the page of one item."""

from argparse import Namespace
from pathlib import Path

from replicse.checked import Text
from replicse.cli.render import read_study
from replicse.cli.stages import Stage, StudyJob
from replicse.judge.report.build_report import report
from replicse.judge.verdicts.table import ItemResult


class PageJob(StudyJob):
    """The record of a study, an item's result, and its figure if any."""

    item: Text
    figure: str = ""


def page(job: PageJob, arguments: Namespace) -> None:
    """Write the HTML page of an item, with its figure if there is one."""
    from replicse.show.document import write_page

    drawing = Path(job.figure).with_suffix("") if job.figure else None
    study, item = read_study(Path(job.study)), ItemResult.read(job.item)
    alone = {**study, "papers": {item.paper: study["papers"][item.paper]}}
    write_page(arguments.out, report(alone, [item]), drawing)


STAGE = Stage(PageJob.of, page)
