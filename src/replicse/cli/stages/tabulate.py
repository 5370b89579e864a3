"""The stage `tabulate`: judge and tabulate one item."""

import logging
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.cli.stages import Stage
from replicse.compile.item_plan import ItemPlan
from replicse.files import write_json, write_rows
from replicse.judge.report.csv_rows import FIELDS, table_rows
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result

log = logging.getLogger(__name__)


def read_plan(payload: Mapping[str, Any], location: str) -> ItemPlan:
    """Validate the plan of an item; raises BadInput if it is wrong."""
    return ItemPlan.of(payload, location)


def tabulate(plan: ItemPlan, arguments: Namespace) -> None:
    """Write the result of an item as JSON and its judged cells as CSV."""
    result = item_result(plan, Measurements(plan))
    write_json(arguments.out, result.plain())
    table = Path(plan.paths.table(plan.item.id))
    log.info("cells=%d", write_rows(table, FIELDS, table_rows(result)))


STAGE = Stage(read_plan, tabulate)
