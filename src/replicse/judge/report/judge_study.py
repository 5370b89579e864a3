"""Judgement of a complete study from the results of its items."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.compile.cache import load_or_compile
from replicse.compile.item_plan import plan_item
from replicse.compile.paths import Paths
from replicse.compile.selection import chosen_items
from replicse.compile.specifications import Specifications, describe_outdated
from replicse.compile.study import Study
from replicse.files import read_json
from replicse.judge.adjudication.adjudicate import adjudicate
from replicse.judge.audit.audit_papers import audit, audit_plan
from replicse.judge.claims.judge_claims import ClaimNumbers, judge_claims, study_claims
from replicse.judge.claims.record_claims import RecordNumbers
from replicse.judge.report.csv_rows import TIDY, escape_formulas, tidy_rows
from replicse.judge.report.judgements import Explained, Finding, JudgedClaim, Judgements
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.origins import commits_in
from replicse.judge.values.record_measurements import RecordMeasurements
from replicse.judge.verdicts.record_cells import adjusted_results, record_results
from replicse.judge.verdicts.table import ItemResult
from replicse.judge.verdicts.tabulate import item_result
from replicse.spec.cell_id import CellId

LOG = logging.getLogger(__name__)
Table = tuple[Sequence[str], list[dict[str, Any]]]


def judge_study(
    study: Study, results: Sequence[ItemResult], numbers: ClaimNumbers | None = None
) -> Judgements:
    """Judge claims and adjudicated cells, and audit all papers.

    Args:
        study: the study.
        results: the results of its items. If an item has no result, its cells are missing.
        numbers: the numbers for testing claims. Default: the numbers in the results.
    """
    claims = study_claims(study.names, study.studied)
    adjudicated = chain.from_iterable(adjudicate(study.papers, result) for result in results)
    return Judgements(
        claims=tuple(judge_claims(study, claims, results, numbers)),
        adjudication=tuple(adjudicated),
        audit=tuple(audit(audit_plan(study.workflow, study=study.config))),
    )


def judged_tables(judgements: Judgements, results: Sequence[ItemResult]) -> dict[str, Table]:
    """Return the CSV files of a study by name.

    Args:
        judgements: the judgements on the study.
        results: the results of its items.

    Returns:
        Dict from `claims`, `adjudication`, `audit` and `cells` to the names of columns and a list of rows.
    """
    kinds = {"claims": JudgedClaim, "adjudication": Explained, "audit": Finding}
    tables: dict[str, Table] = {}
    for name, kind in kinds.items():
        rows = [escape_formulas(row.line()) for row in getattr(judgements, name)]
        tables[name] = ([field.name for field in fields(kind)], rows)
    return {**tables, "cells": (TIDY, list(tidy_rows(results)))}


def claim_numbers(measurements: Measurements) -> ClaimNumbers | None:
    """Return the numbers for testing claims on the record.

    Returns None for other studies, because their results contain the numbers.
    """
    return RecordNumbers(measurements) if isinstance(measurements, RecordMeasurements) else None


def read_results(study: Study) -> list[ItemResult]:
    """Load the results of a study's items that `tabulate` wrote."""
    return [ItemResult.read(study.paths.item(item)) for item in study.items]


def committed_item(plan: Study, paths: Paths, item: str) -> ItemResult:
    """Load an item of a committed study.

    A note is added if other encoders are planned now.

    Args:
        plan: the study as it is planned now.
        paths: the paths of the committed study.
        item: the id `paper/item`.
    """
    result = ItemResult.read(paths.item(item)).model_copy(update={"kept": paths.kept})
    planned: set[str] = set()
    for planned_cell in plan.cells.get(item, ()):
        planned.update(planned_cell.encoders)
    shown: set[str] = set()
    for cell in result.cells:
        shown.update(cell.encoders)
    if planned == shown:
        return result
    commits = commits_in(read_json(paths.record), item)
    outdated = (
        f"Created by commit {commits}; this version would run other encoders: {len(shown & planned)} of the"
        f" {len(shown)} encoders shown here are among the {len(planned)} planned encoders."
    )
    return result.model_copy(update={"outdated": outdated})


def results_of(
    items: Iterable[str], measurements: Measurements, only: Collection[CellId] | None = None
) -> list[ItemResult]:
    """Compute the results of some items from the evaluations that exist now.

    The results of a committed study are loaded as committed. Items that are not in the study are skipped.

    Args:
        items: the ids `paper/item`.
        measurements: the measurements of the study.
        only: the cells to include. Default: all cells.
    """
    study = measurements.study
    if isinstance(measurements, RecordMeasurements):
        return record_results(measurements, items, only)
    names = [name for name in items if name in study.items]
    if measurements.paths.kept:
        return [committed_item(study, measurements.paths, name) for name in names]
    results = [item_result(plan_item(study, study.items[name]), measurements, only) for name in names]
    specifications, changes = Specifications(study), {}
    for name in names:
        changes[name] = specifications.changes_of_item(name)
    for sentence in describe_outdated(changes):
        LOG.warning("%s", sentence)
    return results


def adjust_item(measurements: Measurements, result: ItemResult) -> ItemResult:
    """Adjust the verdicts of an item among the tabulated items of a paper.

    Args:
        measurements: the measurements of the study.
        result: the result of the item.
    """
    if isinstance(measurements, RecordMeasurements):
        return adjusted_results(measurements, [result.item])[0]
    study = measurements.study
    family = [result]
    for name in study.papers[result.paper].items:
        item = f"{result.paper}/{name}"
        file = Path(study.paths.item(item))
        if item != result.item and file.is_file():
            other = ItemResult.read(file)
            if other.comparable == result.comparable:
                family.append(other)
    return adjust_verdicts(family)[0]


def study_of_others(study: Study, items: Iterable[str]) -> Study:
    """Return a study that contains some items of a config.

    The study is compiled if the given study does not contain all of them. Items that cannot be compiled are logged and
    skipped.

    Args:
        study: the study with the config.
        items: the ids `paper/item`.
    """
    wanted = set(items)
    names = [item.id for item in chosen_items(study.config, study.papers, "config.yaml") if item.id in wanted]
    if study.items.keys() >= set(names):
        return study
    others = load_or_compile(study.config.of_items(names), study.workflow, as_far_as_possible=True)
    for name, error in others.unplanned.items():
        LOG.warning("%s is left out: %s", name, error)
    return others
