"""The manifest of an item: all that tabulate and report need to know of it, as plain data."""

from collections.abc import Mapping
from typing import Any

from replicse.errors import BadInput
from replicse.study.paper.papers import Item
from replicse.study.paper.protocols import AS_DESCRIBED, AS_RUN
from replicse.study.paper.settings import setting_difference
from replicse.study.plan.plan import Cell, Plan
from replicse.study.plan.specs import digest, plain


def manifest_of(plan: Plan, item: Item) -> dict[str, Any]:
    """Return all that tabulate and report need to know of an item."""
    protocols: dict[str, dict[str, dict[str, str]]] = {row.id: {} for row in item.rows}
    lists: dict[str, list[str]] = {}
    cells: dict[str, dict[str, Any]] = {}
    for cell in plan.cells[item.id]:
        named = protocols[cell.row.id].setdefault(cell.protocol, {})
        if cell.encoders:
            # Most columns of a row read the same encoders: each list stands once.
            name = digest(cell.encoders, 6)
            lists[name] = list(cell.encoders)
            named[f"{cell.column.id}|{cell.column.metric}"] = name
        # What is printed belongs to the text's protocol; the others are read and chosen alike.
        facts = _cell_facts(plan, cell) if cell.protocol == AS_DESCRIBED else {}
        if facts:
            cells[f"{cell.row.id}|{cell.column.id}|{cell.column.metric}"] = facts
    return {
        "item": item.id,
        "paper": item.paper,
        "kind": item.kind,
        "figure": item.figure or None,
        "title": item.title,
        "place": item.place,
        "setting": dict(item.setting),
        "comparable": plan.scale.comparable,
        "scale": plan.scale.name,
        "baseline": item.baseline,
        "columns": [
            {
                "id": column.id,
                "label": column.label,
                "metric": column.metric,
                "read": column.read,
                "better": column.better,
                "minus": bool(column.minus),
                "choose": column.choose,
            }
            for column in item.columns
        ],
        "rows": [
            {
                "id": row.id,
                "label": row.label,
                "group": row.group,
                "quoted": row.quoted,
                "note": row.note,
                "protocols": protocols[row.id],
            }
            for row in item.rows
        ],
        "seedless": sorted(
            {
                encoder
                for cell in plan.cells[item.id]
                for encoder in cell.encoders
                if "run" not in plan.encoders[encoder].source
            }
        ),
        "encoders": lists,
        "cells": cells,
        "variants": _variant_titles(plan, item),
        "notes": list(item.notes),
        "deviations": plan.papers[item.paper].deviations.get(item.name, ""),
    }


def _variant_titles(plan: Plan, item: Item) -> dict[str, str]:
    """Return the title of each protocol that was run only to adjudicate; those are not lines of the table."""
    run = {cell.protocol for cell in plan.cells[item.id]}
    titles = {
        protocol.id: protocol.title
        for protocol in plan.papers[item.paper].protocols
        if protocol.id in run and item.name not in protocol.in_table
    }
    return titles | ({AS_RUN: "All of the released code"} if AS_RUN in run else {})


def _cell_facts(plan: Plan, cell: Cell) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if cell.reported:
        facts = {"reported": cell.reported.value, "source": cell.reported.source}
    if cell.minus:
        facts["minus"] = cell.minus.value
    if cell.read != cell.column.read:
        facts["read"] = cell.read
    spread = _borrowed_spread(plan, cell)
    if spread is not None:
        facts["spread"] = spread
    why_not = _setting_difference(plan, cell)
    if why_not:
        facts["why_not"] = why_not
    if cell.column.choose:
        facts["choices"] = {encoder: _hyperparameter(plan, encoder, cell) for encoder in cell.encoders}
    return facts


def _borrowed_spread(plan: Plan, cell: Cell) -> float | None:
    """Return the published spread of a cell whose runs were all trained in the setting it was measured in."""
    if not plan.scale.comparable or not cell.encoders or cell.column.choose:
        return None
    found = {_prior(plan, encoder, cell.read) for encoder in cell.encoders}
    return found.pop() if len(found) == 1 else None


def _prior(plan: Plan, encoder: str, read: str) -> float | None:
    spec = plan.encoders[encoder]
    spreads = plan.measured.get(spec.source.get("run", ""), {})
    if read not in spreads or spec.postprocess:
        return None
    run = plan.runs[spec.source["run"]]
    as_trained = (spec.pooling, spec.checkpoint) == (run.pooling.test, plan.kept_checkpoint(run))
    return spreads[read] if as_trained else None


def _setting_difference(plan: Plan, cell: Cell) -> str:
    poolings = {plan.encoders[name].pooling for name in cell.encoders if name != "data"}
    pooling = poolings.pop() if len(poolings) == 1 else ""
    return setting_difference(cell.item.setting, cell.read, pooling) if cell.encoders else ""


def _hyperparameter(plan: Plan, encoder: str, cell: Cell) -> float:
    """Return what a column with `choose` shows: `section.key` of the run, or `terms.TERM.key`."""
    run = plain(plan.runs[plan.encoders[encoder].source["run"]], drop_defaults=False)
    run["terms"] = {term["term"]: term for term in run["objective"]}
    node: Any = run
    for part in cell.column.choose.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    if node is None:
        raise BadInput(
            f'{cell.item.file}: choose is "{cell.column.choose}"; expected section.name or terms.TERM.name of a run'
        )
    return float(node)
