"""Evaluations that no encoder ever gave, written where a study looks for them."""

import json
from pathlib import Path


def write_evaluation(path, values, failures=None, pairs=None):
    """Write an evaluation or trajectory JSON from numbers by suite path, relative to the working directory."""
    suites = {}
    for read, value in values.items():
        *parents, last = read.split("/")
        node = suites
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = value
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"suites": suites, "failures": failures or {}, "pairs": pairs or {}}))


def write_scores(plan, items, score, protocols=None):
    """Write every evaluation of some items; `score(cell, place)` is what the encoder in this place of a cell gets."""
    found = {}
    for cell in (cell for item in items for cell in plan.cells[item]):
        if protocols is None or cell.protocol in protocols:
            for place, encoder in enumerate(cell.encoders):
                what = "trajectory" if cell.read.startswith("trajectory/") else "evaluation"
                found.setdefault(plan.paths.encoder(encoder, what), {})[cell.read] = score(cell, place)
    for path, values in found.items():
        write_evaluation(path, values)
