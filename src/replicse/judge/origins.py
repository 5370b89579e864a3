"""Origins of the numbers of a results folder: the records of its evaluations, and of every run that they read."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from replicse.files import read_json
from replicse.judge.table import ItemResult
from replicse.registry.artefacts import PROVENANCE

Records = dict[str, Mapping[str, Any]]
# What of a record says what made its numbers.
MADE_WITH = ("commit", "dirty", "package_sha256", "versions", "plugins", "hardware", "numerics")
# An evaluation names its encoder by the folder of a run, a run its frozen models too; the one it starts from by id.
READ = re.compile(r'(?:results/[^/"]+/runs/|"run": ")([^/"]+)')


def records_of(items: Iterable[ItemResult], folder: Path) -> tuple[Records, Records]:
    """Return what the runs of some items' numbers, and their evaluations by file, were made with; {} where absent.

    BadInput for a file that is broken.
    """
    cells = [cell for item in items for cell in item.cells]
    encoders = sorted({encoder for cell in cells for encoder in cell.encoders})
    files = (file for encoder in encoders for file in sorted((folder / "encoders" / encoder).glob("*.json")))
    evaluations = {str(file): record_in(file) for file in files}
    waiting = [each.run for cell in cells for each in cell.values if each.run and each.value is not None]
    waiting += [run for evaluation in evaluations.values() for run in _runs_read(evaluation)]
    runs: Records = {}
    while waiting:
        run = waiting.pop()
        if run not in runs:
            runs[run] = record_in(folder / "runs" / run / PROVENANCE)
            waiting += _runs_read(runs[run])
    return runs, {file: _mapping(evaluation.get("provenance")) for file, evaluation in evaluations.items()}


def _runs_read(record: Mapping[str, Any]) -> list[str]:
    return READ.findall(json.dumps([record.get("encoder"), record.get("job")]))


def record_in(file: Path) -> Mapping[str, Any]:
    """Return the mapping that a JSON holds; an empty one where there is none."""
    return _mapping(read_json(file)) if file.is_file() else {}


def _mapping(document: Any) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def agreed(*groups: Records) -> dict[str, Any]:
    """Return what all records of some groups say that made their numbers; it is dirty where any of them is."""
    first, *others = [record for group in groups for record in group.values() if record] or [{}]
    alike = {key: first[key] for key in MADE_WITH if key in first}
    alike = {key: entry for key, entry in alike.items() if all(each.get(key) == entry for each in others)}
    return {**alike, "dirty": True} if any(each.get("dirty") for each in (first, *others)) else alike
