"""The stage that judges and tabulates one item."""

import logging
from argparse import Namespace

from replicse.checked import Text
from replicse.cli.stages import Stage, StudyJob
from replicse.files import write_json, write_rows
from replicse.judge.csv_rows import FIELDS, table_rows
from replicse.judge.measurements import Measurements
from replicse.judge.tabulate import item_result

log = logging.getLogger(__name__)


class TableJob(StudyJob):
    """An item of a study, and the CSV of its cells."""

    item: Text
    table: Text


def tabulate(job: TableJob, arguments: Namespace) -> None:
    """Write the result of one item as JSON, and its judged cells as CSV."""
    plan = job.compiled(only=job.item)
    result = item_result(plan.item(job.item), Measurements(plan))
    write_json(arguments.out, result.plain())
    log.info("cells=%d", write_rows(job.table, FIELDS, table_rows(result)))


STAGE = Stage(TableJob.of, tabulate)
