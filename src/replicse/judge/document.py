"""The document of what a study found, from its items' results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.judge.effects import effects_of
from replicse.judge.gaps import adjudicated_items, gap_explained, gaps_known
from replicse.judge.judgements import Judgements
from replicse.judge.machines import count_machines
from replicse.judge.others import Others, RecordSummary
from replicse.judge.report import Incomplete, JudgedItem, Report, Seconds
from replicse.judge.shape import shapes
from replicse.judge.summary import compared_rows, orders_kept, tested
from replicse.judge.table import ItemResult
from replicse.spec.causes import load_causes, load_causes_page, load_measured


def judged_item(result: ItemResult, others: Others | None = None) -> JudgedItem:
    """Return an item with what its rows change, how many cells show each verdict, and what others measured."""
    quoted = {row.id for row in result.rows if row.quoted}
    verdicts = Counter(
        verdict
        for column in result.columns
        for cell in result.cells
        if (cell.column, cell.metric) == (column.id, column.metric) and cell.protocol not in result.variants
        if (verdict := cell.shown_verdict(result.comparable, cell.row in quoted))
    )
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
    """Return the report of a study from its record, its items' results and what these say together.

    The page of causes is read from the `workflow` for a study of one of its papers; `others` holds what others measured
    of the cells of an item, `record` what the record comes to. Rows of the record come from different sources, so their
    order is not compared.
    """
    page = load_causes_page(workflow) if workflow else None
    asked = page is not None and any(result.paper in page.papers for result in results)
    judged = judgements or Judgements()
    items = [judged_item(result, (others or {}).get(result.item)) for result in results]
    by_item = {item.item: item for item in items}
    columns = tuple(shape for item in items for shape in shapes(item)) if record is None else ()
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
        tests=tested(items),
        seconds=seconds,
        machines=tuple(
            count_machines(each for item in items for cell in item.cells for each in cell.machines)
        ),
        incomplete=tuple(incomplete),
        causes_page=page if asked else None,
        causes=load_causes(workflow) if workflow and asked else (),
        measured=tuple(load_measured(workflow)) if workflow and asked else (),
        record=record,
    )
