"""The stage `page`: write the page of one item."""

from argparse import Namespace
from pathlib import Path

from replicse.checked import Text
from replicse.cli.render import read_study
from replicse.cli.stages import Stage, StudyJob
from replicse.judge.report.build_report import report
from replicse.judge.verdicts.table import ItemResult


class PageJob(StudyJob):
    """The paths of a study's record and an item's result and figure.

    Attributes:
        item: the JSON file with the result of the item.
        figure: the SVG file of the figure. Default: empty, the item has no figure.
    """

    item: Text
    figure: str = ""


def page(job: PageJob, arguments: Namespace) -> None:
    """Write the HTML page of an item, with the figure if there is one."""
    from replicse.show.document import write_page

    drawing = Path(job.figure).with_suffix("") if job.figure else None
    study, item = read_study(Path(job.study)), ItemResult.read(job.item)
    alone = {**study, "papers": {item.paper: study["papers"][item.paper]}}
    write_page(arguments.out, report(alone, [item]), drawing)


STAGE = Stage(PageJob.of, page)
