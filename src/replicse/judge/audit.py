"""Audit: the arithmetic of the printed numbers alone. Every rule is general and runs on all papers.

A printed number stands for all numbers that round to it, so sums are exact fractions and half a unit of the
last digit says what rounding can explain. What a set holds is in `workflow/datasets.yaml`.
"""

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from replicse.compile.cache import load_or_compile
from replicse.compile.selection import chosen_scale, papers_scale
from replicse.compile.study import Cell, Study
from replicse.errors import check_known
from replicse.judge.claims import judged_in_print, study_claims
from replicse.judge.findings import QUOTED
from replicse.judge.judgements import CERTAIN, NOT_AUDITED, Finding
from replicse.judge.rules_of_tables import RULES
from replicse.judge.rules_of_text import RULES_OF_TEXT
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
    """Return the plan of all papers at their own scale: there equal encoders, and only those, have one id.

    All in one precision: a paper that trains in another prints numbers of the same recipe all the same. With `cell`,
    only the items that a finding on it may rest on. The plug-ins, corpora and sets of a `study` are there too, where
    the papers' scale has none of that name. What cannot be planned is left out, and named in a warning.
    """
    config = checked_config(
        {"scale": papers_scale(workflow), "papers": "all", "seeds": [0], "precision": "fp32"}, "audit"
    )
    if study:
        known = chosen_scale(config, workflow, "audit").corpora if study.corpora else {}
        corpora = {name: corpus for name, corpus in (study.corpora or {}).items() if name not in known}
        config = config.replace(corpora=corpora, sets=study.sets, plugins=study.plugins)
    plan = load_or_compile(config, workflow, "audit", as_far_as_possible=True)
    if cell:
        named = _beside(plan.papers, cell, load_datasets(workflow))
        items = {name: item for name, item in plan.items.items() if name in named}
        plan = replace(plan, items=items, cells={name: plan.cells[name] for name in items}).frozen()
    if plan.unplanned:
        LOG.warning("not audited: %s (%s)", ", ".join(plan.unplanned), next(iter(plan.unplanned.values())))
    return plan


def unplanned(plan: Study) -> Iterator[Finding]:
    """Yield one line for each paper with items that are not audited, since they cannot be planned."""
    for key, paper in plan.papers.items():
        items = [item for item in paper.items.values() if item.id in plan.unplanned]
        if items:
            yield Finding(
                paper=key,
                rule=NOT_AUDITED,
                place=", ".join(item.place.partition(",")[0] for item in items),
                cells=tuple(item.id for item in items),
                printed="",
                follows=f"not planned at scale {plan.scale.name}: {plan.unplanned[items[0].id]}",
                certainty="",
            )


def _beside(papers: Mapping[str, Paper], cell: Cell, datasets: Datasets) -> set[str]:
    """Return a cell's item, those that print differences to it, and those of its paper that read the same.

    An average counts as the same as its parts.
    """
    wanted = {cell.item.id}
    for difference, minuend, subtrahend in differences(papers):
        if cell.id in (difference, minuend, subtrahend):
            wanted |= {difference.item, minuend.item}
    related = datasets.related(cell.metric_path)
    for item in papers[cell.item.paper].items.values():
        paths = {item.path(row, column) for row in item.rows for column in item.columns}
        if not related.isdisjoint(map(datasets.one_name, filter(None, paths))):
            wanted.add(item.id)
    return wanted


def audit(plan: Study, sentences: Sequence[Claim] | None = None) -> list[Finding]:
    """Return all findings on the items of a plan, by paper: the paper's own before quoted, certain before others.

    Of what the papers state all is judged, or some `sentences`, whose names are resolved.
    """
    datasets = load_datasets(plan.workflow)
    names = CellNames(plan.papers, chosen=True)
    numbers = numbers_in_text(names, datasets)
    findings = [finding for rule in RULES for finding in rule(plan, datasets)]
    findings += [finding for rule in RULES_OF_TEXT for finding in rule(plan, datasets, names, numbers)]
    findings += claims(plan, study_claims(plan.names, plan.papers) if sentences is None else sentences)
    findings += unplanned(plan)
    order = list(plan.papers)
    return sorted(
        findings,
        key=lambda one: (order.index(one.paper), one.note.startswith(QUOTED), one.certainty != CERTAIN),
    )


def findings_on(findings: Sequence[Finding], name: str, plan: Study) -> list[Finding]:
    """Return the findings of a paper or of an item `paper/item`; BadInput names the nearest one."""
    names = [*plan.papers, *plan.items, *plan.unplanned]
    check_known(name, names, f'no paper or item "{name}"')
    return _naming(findings, [name])


def of_items(findings: Iterable[Finding], items: Collection[str]) -> list[Finding]:
    """Return the findings that name a cell of some items, or a number of the running text of their papers."""
    papers = {item.partition("/")[0] for item in items}
    named = _naming(findings, [*items, *(f"{paper}/{TEXT_ITEM}" for paper in papers)])
    # A sentence that another one contradicts names no cell.
    return [
        one
        for one in findings
        if one in named or (one.paper in papers and len(one.cells) == 1 and one.rule == CLAIM)
    ]


def _naming(findings: Iterable[Finding], names: Sequence[str]) -> list[Finding]:
    starts = tuple(f"{name}/" for name in names)
    return [one for one in findings if any(f"{cell}/".startswith(starts) for cell in one.cells)]


def claims(plan: Study, sentences: Iterable[Claim]) -> Iterator[Finding]:
    """Yield sentences of the papers that their own printed numbers contradict."""
    names = plan.names
    items = {item.id: item for paper in plan.papers.values() for item in paper.items.values()}
    for claim in sentences:
        outcome = judged_in_print(claim, names)
        if outcome.outcome != "contradicted":
            continue
        reason = names.spelt_out(outcome.reason, claim.paper)
        for name, item in items.items():
            if name in reason:
                place = item.place.partition(",")[0]  # text, in which a backslash refers to no group
                reason = re.sub(rf"{re.escape(name)}\b", place.replace("\\", r"\\"), reason)
        yield Finding(
            paper=claim.paper,
            rule=CLAIM,
            place=claim.place,
            cells=(claim.name, *outcome.decided_by),
            printed=claim.text,
            follows=reason,
            certainty="unless the sentence is read otherwise",
            note=claim.note,
            against=tuple(names.words(names.cell(name), claim.paper) for name in outcome.decided_by),
        )
