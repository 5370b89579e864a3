"""The report of a study, built from the results of its items."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.judge.adjudication.gaps import adjudicated_items, gap_explained, gaps_known
from replicse.judge.report.judgements import Judgements
from replicse.judge.report.report_types import ColumnShape, Incomplete, JudgedItem, Report, Seconds
from replicse.judge.report.summary import compared_rows, count_tests, orders_kept
from replicse.judge.statistics.effects import effects_of
from replicse.judge.statistics.shape import shapes
from replicse.judge.values.machines import count_machines
from replicse.judge.verdicts.others import Others, RecordSummary
from replicse.judge.verdicts.table import ItemResult
from replicse.spec.causes import load_causes, load_causes_page, load_measured


def judged_item(result: ItemResult, others: Others | None = None) -> JudgedItem:
    """Add effects, counts of verdicts, and others' measurements to an item.

    Args:
        result: the result of the item.
        others: others' measurements by cell id. Default: no measurements.
    """
    quoted = {row.id for row in result.rows if row.quoted}
    verdicts: Counter[str] = Counter()
    for column in result.columns:
        for cell in result.cells:
            is_shown = (cell.column, cell.metric) == (column.id, column.metric)
            if is_shown and cell.protocol not in result.variants:
                verdicts[cell.shown_verdict(result.comparable, cell.row in quoted)] += 1
    del verdicts[""]
    found = {"effects": tuple(effects_of(result)), "verdicts": dict(verdicts), "others": others or {}}
    return JudgedItem.model_construct(**{**dict(result), **found})


def report(
    study: Mapping[str, Any],
    results: Sequence[ItemResult],
    judgements: Judgements | None = None,
    seconds: Seconds | None = None,
    incomplete: Sequence[Incomplete] = (),
    workflow: Path | None = None,
    others: Mapping[str, Others] | None = None,
    record: RecordSummary | None = None,
) -> Report:
    """Build the report of a study.

    Args:
        study: the record of the study.
        results: the results of its items.
        judgements: claims, adjudication and audit. Default: empty.
        seconds: the time that its jobs took. Default: unknown.
        incomplete: items with missing evaluations. Default: no items.
        workflow: the folder with the page of causes, which is included if the study contains a paper of this page.
            Default: no page.
        others: dict from item to others' measurements of its cells. Default: no measurements.
        record: the summary of the record, for the study of the record. Its rows use different sources, so their order
            is not compared. Default: None.
    """
    judged = judgements or Judgements()
    items = [judged_item(result, (others or {}).get(result.item)) for result in results]
    by_item = {item.item: item for item in items}
    columns: tuple[ColumnShape, ...] = ()
    if record is None:
        columns = tuple(chain.from_iterable(map(shapes, items)))
    cells = chain.from_iterable(item.cells for item in items)
    machines = count_machines(chain.from_iterable(cell.machines for cell in cells))
    return Report(
        study=dict(study),
        items=tuple(items),
        claims=judged.claims,
        audit=judged.audit,
        adjudication=tuple(adjudicated_items(judged.adjudication, by_item)),
        gaps_known=gaps_known(judged.adjudication),
        gap_explained=gap_explained(judged.adjudication, by_item),
        differences=compared_rows(items),
        shapes=columns,
        orders=orders_kept(columns),
        tests=count_tests(items),
        seconds=seconds,
        machines=tuple(machines),
        incomplete=tuple(incomplete),
        record=record,
        **_load_causes(workflow, results),
    )


def _load_causes(workflow: Path | None, results: Sequence[ItemResult]) -> dict[str, Any]:
    """Load the page of causes if the study contains a paper of this page."""
    if workflow is None:
        return {}
    page = load_causes_page(workflow)
    if not any(result.paper in page.papers for result in results):
        return {}
    return {
        "causes_page": page,
        "causes": load_causes(workflow),
        "measured": tuple(load_measured(workflow)),
    }
