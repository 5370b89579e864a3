"""A complete study judged once: claims, adjudicated items and audit, from the items' results and one plan."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from replicse.compile.cache import load_or_compile
from replicse.compile.item_plan import plan_item
from replicse.compile.paths import Paths
from replicse.compile.selection import chosen_items
from replicse.compile.specifications import Specifications, describe_outdated
from replicse.compile.study import Study
from replicse.files import read_json
from replicse.judge.adjudicate import adjudicate
from replicse.judge.audit import audit, audit_plan
from replicse.judge.claims import ClaimNumbers, judged_claims, study_claims
from replicse.judge.csv_rows import TIDY, tidy_rows
from replicse.judge.judgements import Explained, Finding, JudgedClaim, Judgements
from replicse.judge.measurements import Measurements
from replicse.judge.multiplicity import controlled
from replicse.judge.record_cells import controlled_results, record_results
from replicse.judge.record_claims import RecordNumbers
from replicse.judge.record_measurements import RecordMeasurements
from replicse.judge.table import ItemResult
from replicse.judge.tabulate import item_result
from replicse.spec.cell_id import CellId

LOG = logging.getLogger(__name__)
Table = tuple[Sequence[str], list[dict[str, Any]]]


def judge_study(
    plan: Study, results: Sequence[ItemResult], numbers: ClaimNumbers | None = None
) -> Judgements:
    """Return what all items say together: claims, adjudicated cells, and the audit, which is of all papers.

    Nothing but the items' results is read; the cells of an item without a result are missing. Claims are tested on
    `numbers` when they are given.
    """
    claims = study_claims(plan.names, plan.studied)
    return Judgements(
        claims=tuple(judged_claims(plan, claims, results, numbers)),
        adjudication=tuple(row for result in results for row in adjudicate(plan.papers, result)),
        audit=tuple(audit(audit_plan(plan.workflow, study=plan.config))),
    )


def judged_tables(judgements: Judgements, results: Sequence[ItemResult]) -> dict[str, Table]:
    """Return claims, adjudication, audit and the tidy cells as fields and rows of a CSV by name."""
    kinds = {"claims": JudgedClaim, "adjudication": Explained, "audit": Finding}
    tables: dict[str, Table] = {
        name: ([field.name for field in fields(kind)], [row.line() for row in getattr(judgements, name)])
        for name, kind in kinds.items()
    }
    return {**tables, "cells": (TIDY, list(tidy_rows(results)))}


def claim_numbers(measurements: Measurements) -> ClaimNumbers | None:
    """Return what claims are tested on instead of the items' results: the values of single sources of the record."""
    return RecordNumbers(measurements) if isinstance(measurements, RecordMeasurements) else None


def read_results(plan: Study) -> list[ItemResult]:
    """Return the results of a study's items as `tabulate` wrote them."""
    return [ItemResult.read(plan.paths.item(item)) for item in plan.items]


def committed_item(plan: Study, paths: Paths, item: str) -> ItemResult:
    """Return an item of a committed study, which says so where its numbers are not of the encoders planned now."""
    result = ItemResult.read(paths.item(item)).model_copy(update={"kept": paths.kept})
    planned = {encoder for cell in plan.cells.get(item, ()) for encoder in cell.encoders}
    shown = {encoder for cell in result.cells for encoder in cell.encoders}
    if planned == shown:
        return result
    study = read_json(paths.record)
    made = f"commit {study['commit'][:12]}"
    changed = " with uncommitted changes" if study.get("dirty") else ""
    outdated = (
        f"Made by {made}{changed}; this version would run something else: {len(shown & planned)} of the"
        f" {len(shown)} encoders shown here are among its {len(planned)}."
    )
    return result.model_copy(update={"outdated": outdated})


def results_of(
    items: Iterable[str], measurements: Measurements, only: Collection[CellId] | None = None
) -> list[ItemResult]:
    """Return the results of some items from the evaluations there are now; what the plan leaves out is left out.

    They hold all cells of the items, or `only` some. Of a committed study they are as committed.
    """
    plan = measurements.study
    if isinstance(measurements, RecordMeasurements):
        return record_results(measurements, items, only)
    if measurements.paths.kept:
        return [committed_item(plan, measurements.paths, name) for name in items if name in plan.items]
    names = [name for name in items if name in plan.items]
    results = [item_result(plan_item(plan, plan.items[name]), measurements, only) for name in names]
    specifications = Specifications(plan)
    for sentence in describe_outdated({name: specifications.changes_of_item(name) for name in names}):
        LOG.warning("%s", sentence)
    return results


def controlled_item(measurements: Measurements, result: ItemResult) -> ItemResult:
    """Return an item's result with its verdicts controlled among the paper's items that are tabulated."""
    if isinstance(measurements, RecordMeasurements):
        return controlled_results(measurements, [result.item])[0]
    plan = measurements.study
    beside = [f"{result.paper}/{name}" for name in plan.papers[result.paper].items]
    files = [plan.paths.item(name) for name in beside if name != result.item]
    others = [ItemResult.read(file) for file in files if Path(file).is_file()]
    return controlled([result, *(other for other in others if other.comparable == result.comparable)])[0]


def study_of_others(plan: Study, items: Iterable[str]) -> Study:
    """Return the study of some items of a config; the plan of a part of it where that has them all.

    An item that cannot be planned is logged and left out.
    """
    known = [item.id for item in chosen_items(plan.config, plan.papers, "config.yaml")]
    wanted = [name for name in known if name in set(items)]
    if plan.items.keys() >= set(wanted):
        return plan
    config = plan.config.of_items(wanted)
    others = load_or_compile(config, plan.workflow, as_far_as_possible=True)
    for name, error in others.unplanned.items():
        LOG.warning("%s is left out: %s", name, error)
    return others
