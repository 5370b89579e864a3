"""Jobs that turn evaluations into what a person reads: tables, judgements, figures, pages, the report."""

import logging
from argparse import Namespace
from pathlib import Path

from replicse.checked import Text
from replicse.cli.job import Payload, Stage
from replicse.cli.render import draw_item, read_study, study_facts, write_all
from replicse.cli.study import plan_of_file
from replicse.compile.paths import Paths
from replicse.files import read_json, write_json, write_rows
from replicse.judge.document import judged_item
from replicse.judge.multiplicity import controlled
from replicse.judge.study import judge_study, read_results
from replicse.judge.table import ItemResult
from replicse.judge.tabulate import FIELDS, item_result, table_rows
from replicse.judge.values import Evaluations

log = logging.getLogger(__name__)


class StudyJob(Payload):
    """The config of a study, or its record."""

    study: Text


class TableJob(StudyJob):
    """An item of a study, and the CSV of its cells."""

    item: Text
    table: Text


class FigureJob(Payload):
    """The result of an item."""

    item: Text


class PageJob(StudyJob):
    """The record of a study, the result of an item and the SVG of its figure, where it has one."""

    item: Text
    figure: str = ""


def _tabulate(job: TableJob, arguments: Namespace) -> None:
    """Write the result of one item as JSON, and its judged cells as CSV."""
    plan = plan_of_file(job.study, only=job.item)
    result = item_result(plan, plan.item(job.item), Evaluations(plan))
    write_json(arguments.out, result.plain())
    log.info("cells=%d", write_rows(job.table, FIELDS, table_rows(result)))


def _judge(job: StudyJob, arguments: Namespace) -> None:
    """Write what all tabulated items say together: claims.csv, adjudication.csv, audit.csv and cells.csv."""
    plan = plan_of_file(job.study)
    for name, (fields, rows) in judge_study(plan, read_results(plan)).items():
        log.info("%s=%d", name, write_rows(arguments.out / f"{name}.csv", fields, rows))


def _figures(job: FigureJob, arguments: Namespace) -> None:
    """Draw one item as SVG, PNG and PDF, with the plotted data next to them as CSV."""
    draw_item(ItemResult.read(job.item), arguments.out)


def _page(job: PageJob, arguments: Namespace) -> None:
    """Write one item alone as an HTML page, with its figure where one is drawn."""
    from replicse.show.document import write_page

    drawing = Path(job.figure).with_suffix("") if job.figure else None
    write_page(arguments.out, read_study(Path(job.study)), judged_item(ItemResult.read(job.item)), drawing)


def _report(job: StudyJob, arguments: Namespace) -> None:
    """Write the report of all items of a study as HTML, Markdown and LaTeX."""
    study = read_study(Path(job.study))
    facts = study_facts(study, read_json(arguments.data))
    paths = Paths(study["scale"])
    items = controlled([ItemResult.read(paths.item(name)) for name in study["items"]])
    write_all(paths, facts, items, arguments.out.parent)


STAGES = {
    "tabulate": Stage(TableJob.of, _tabulate),
    "judge": Stage(StudyJob.of, _judge),
    "figures": Stage(FigureJob.of, _figures),
    "page": Stage(PageJob.of, _page),
    "report": Stage(StudyJob.of, _report),
}
