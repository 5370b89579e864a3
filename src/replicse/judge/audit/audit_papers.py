"""Audit of the arithmetic of printed numbers with general rules.

A printed number represents all numbers that round to it. Sums are exact fractions, and half a unit of the last digit
limits the effect of rounding. `workflow/datasets.yaml` contains the dataset sizes.
"""

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from replicse.compile.cache import load_or_compile
from replicse.compile.cell import Cell
from replicse.compile.selection import chosen_scale, papers_scale
from replicse.compile.study import Study
from replicse.errors import check_known
from replicse.judge.audit.audit_tables import RULES
from replicse.judge.audit.audit_text import RULES_OF_TEXT
from replicse.judge.audit.findings import QUOTED
from replicse.judge.claims.judge_claims import judge_in_print, study_claims
from replicse.judge.report.judgements import CERTAIN, NOT_AUDITED, Finding
from replicse.spec.cell_id import TEXT_ITEM
from replicse.spec.cell_names import CellNames
from replicse.spec.claims import Claim
from replicse.spec.config import Config, checked_config
from replicse.spec.counterparts import differences
from replicse.spec.datasets import Datasets, load_datasets
from replicse.spec.papers import Paper
from replicse.spec.running_text import numbers_in_text

CLAIM = "claim"

LOG = logging.getLogger(__name__)


def audit_plan(workflow: Path, cell: Cell | None = None, study: Config | None = None) -> Study:
    """Compile the study of all papers at their own scale.

    At this scale, encoders have the same id only if they are equal. All runs use the same precision, because a paper
    can print numbers of the same recipe that were trained in another precision. Items that cannot be compiled are
    skipped, and a warning names them.

    Args:
        workflow: the folder of papers and scales.
        cell: if it is given, only items that a finding on this cell can involve are included. Default: all items.
        study: the config of a study. Its plug-ins and sets are used, and its corpora unless the papers' scale contains
            a corpus with the same name. Default: None.
    """
    config = checked_config(
        {"scale": papers_scale(workflow), "papers": "all", "seeds": [0], "precision": "fp32"}, "audit"
    )
    if study:
        known = chosen_scale(config, workflow, "audit").corpora if study.corpora else {}
        corpora = {name: corpus for name, corpus in (study.corpora or {}).items() if name not in known}
        config = config.replace(corpora=corpora, sets=study.sets, plugins=study.plugins)
    audited = load_or_compile(config, workflow, "audit", as_far_as_possible=True)
    if cell:
        related = _related_items(audited.papers, cell, load_datasets(workflow))
        items, cells = {}, {}
        for name, item in audited.items.items():
            if name in related:
                items[name] = item
                cells[name] = audited.cells[name]
        audited = replace(audited, items=items, cells=cells).frozen()
    if audited.unplanned:
        reason = next(iter(audited.unplanned.values()))
        LOG.warning("not audited: %s (%s)", ", ".join(audited.unplanned), reason)
    return audited


def list_unplanned(study: Study) -> Iterator[Finding]:
    """Yield a finding for each paper with items that cannot be compiled.

    These items are not audited.
    """
    for key, paper in study.papers.items():
        places, items = [], []
        for item in paper.items.values():
            if item.id in study.unplanned:
                places.append(item.place.partition(",")[0])
                items.append(item.id)
        if items:
            yield Finding(
                paper=key,
                rule=NOT_AUDITED,
                place=", ".join(places),
                cells=tuple(items),
                printed="",
                follows=f"not planned at scale {study.scale.name}: {study.unplanned[items[0]]}",
                certainty="",
            )


def _related_items(papers: Mapping[str, Paper], cell: Cell, datasets: Datasets) -> set[str]:
    """Return the items with numbers that depend on a cell.

    These are the item of the cell, items that print differences to the cell, and items with the same metric. An average
    and its parts count as the same metric.
    """
    related_items = {cell.item.id}
    for difference, minuend, subtrahend in differences(papers):
        if cell.id in (difference, minuend, subtrahend):
            related_items |= {difference.item, minuend.item}
    related_metrics = datasets.related(cell.metric_path)
    for item in papers[cell.item.paper].items.values():
        for row in item.rows:
            paths = [item.path(row, column) for column in item.columns]
            if not related_metrics.isdisjoint(map(datasets.one_name, filter(None, paths))):
                related_items.add(item.id)
    return related_items


def audit(study: Study, sentences: Sequence[Claim] | None = None) -> list[Finding]:
    """Return all findings on the items of a study, in the order of papers.

    Within a paper, findings on quoted numbers are last, and certain findings are before other findings.

    Args:
        study: the study.
        sentences: list of claims to audit, with resolved names. Default: all claims of the papers.
    """
    datasets = load_datasets(study.workflow)
    names = CellNames(study.papers, chosen=True)
    numbers = numbers_in_text(names, datasets)
    if sentences is None:
        sentences = study_claims(study.names, study.papers)
    findings: list[Finding] = []
    for audit_table in RULES:
        findings += audit_table(study, datasets)
    for audit_text in RULES_OF_TEXT:
        findings += audit_text(study, datasets, names, numbers)
    findings += contradicted_claims(study, sentences)
    findings += list_unplanned(study)
    order = list(study.papers)
    return sorted(
        findings,
        key=lambda one: (order.index(one.paper), one.note.startswith(QUOTED), one.certainty != CERTAIN),
    )


def findings_on(findings: Sequence[Finding], name: str, study: Study) -> list[Finding]:
    """Return the findings on a paper or an item `paper/item`.

    Args:
        findings: list of findings.
        name: the key of the paper, or the id of the item.
        study: the audited study.

    Raises:
        BadInput: if the name is unknown; the message contains the nearest name.
    """
    names = [*study.papers, *study.items, *study.unplanned]
    check_known(name, names, f'paper or item "{name}" is unknown')
    return _findings_naming(findings, [name])


def findings_on_items(findings: Iterable[Finding], items: Collection[str]) -> list[Finding]:
    """Return the findings on some items and on the text of their papers.

    Args:
        findings: the findings.
        items: the ids `paper/item`.
    """
    every = list(findings)
    papers = {item.partition("/")[0] for item in items}
    on_items = _findings_naming(every, [*items, *(f"{paper}/{TEXT_ITEM}" for paper in papers)])
    selected = []
    for one in every:
        # A claim that is contradicted by another claim has no cells.
        is_text = one.paper in papers and len(one.cells) == 1 and one.rule == CLAIM
        if is_text or one in on_items:
            selected.append(one)
    return selected


def _findings_naming(findings: Iterable[Finding], names: Sequence[str]) -> list[Finding]:
    prefixes = tuple(f"{name}/" for name in names)
    selected = []
    for one in findings:
        if any(f"{cell}/".startswith(prefixes) for cell in one.cells):
            selected.append(one)
    return selected


def contradicted_claims(study: Study, sentences: Iterable[Claim]) -> Iterator[Finding]:
    """Yield a finding for each claim that the paper's numbers contradict."""
    names = study.names
    for claim in sentences:
        outcome = judge_in_print(claim, names)
        if outcome.outcome == "contradicted":
            yield Finding(
                paper=claim.paper,
                rule=CLAIM,
                place=claim.place,
                cells=(claim.name, *outcome.decided_by),
                printed=claim.text,
                follows=_name_places(names.spelt_out(outcome.reason, claim.paper), study.papers),
                certainty="unless the sentence is read otherwise",
                note=claim.note,
                against=tuple(names.words(names.cell(name), claim.paper) for name in outcome.decided_by),
            )


def _name_places(reason: str, papers: Mapping[str, Paper]) -> str:
    """Replace ids of items by their places in the paper, such as "Table 5"."""
    for item in chain.from_iterable(paper.items.values() for paper in papers.values()):
        if item.id in reason:
            # Escape backslashes, because re.sub uses them for group references.
            place = item.place.partition(",")[0].replace("\\", r"\\")
            reason = re.sub(rf"{re.escape(item.id)}\b", place, reason)
    return reason
