"""Evaluations that no encoder ever gave, written where a study looks for them."""

import json
from pathlib import Path

from replicse.registry.suites import file_of


def write_evaluation(path, values, failures=None, pairs=None):
    """Write one evaluation JSON from numbers by metric path, relative to the working directory."""
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


def write_scores(plan, items, score, protocols=None):
    """Write every evaluation of some items; `score(cell, place)` is what the encoder in this place of a cell gets.

    None leaves the number out.
    """
    found = {}
    for cell in (cell for item in items for cell in plan.cells[item]):
        if cell.metric_path and (protocols is None or cell.protocol in protocols):
            for place, encoder in enumerate(cell.encoders):
                value = score(cell, place)
                file = plan.paths.evaluation(encoder, file_of(cell.metric_path))
                if value is not None:
                    found.setdefault(file, {})[cell.metric_path] = value
    for path, values in found.items():
        write_evaluation(path, values)
