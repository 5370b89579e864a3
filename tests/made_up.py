"""Evaluations that no encoder ever gave, written where a study looks for them."""

import json
from pathlib import Path

from replicse.registry.suites import file_of


def write_evaluation(path, values, failures=None, pairs=None):
    """Write an evaluation or trajectory JSON from numbers by metric path, relative to the working directory."""
    suites = {}
    for metric_path, value in values.items():
        *parents, last = metric_path.split("/")
        node = suites
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = value
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"suites": suites, "failures": failures or {}, "pairs": pairs or {}}))


def write_scores(plan, items, score, protocols=None, failures=None):
    """Write every evaluation of some items; `score(cell, place)` is what the encoder in this place of a cell gets.

    `failures` are the reasons of undefined numbers by metric path, for the files that hold such a path.
    """
    found = {}
    for cell in (cell for item in items for cell in plan.cells[item]):
        for operand in cell.operands or (cell,):
            if operand.metric_path and (protocols is None or cell.protocol in protocols):
                for place, encoder in enumerate(operand.encoders):
                    path = plan.paths.evaluation(encoder, file_of(operand.metric_path))
                    found.setdefault(path, {})[operand.metric_path] = score(operand, place)
    for path, values in found.items():
        held = {name: reason for name, reason in (failures or {}).items() if name in values}
        write_evaluation(path, values, held)
