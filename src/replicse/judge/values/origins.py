"""The provenance records of a results folder."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.compile.copies import read_unchanged
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.artefacts import PROVENANCE

Records = dict[str, Mapping[str, Any]]
# Entries of a record that describe the code and the machine.
MADE_WITH = ("commit", "dirty", "package_sha256", "versions", "plugins", "hardware", "numerics")
# Evaluations, and runs with frozen models, contain the folder of a run. If a run starts from another run, it contains
# the id of the other run.
READ = re.compile(r'(?:results/[^/"]+/runs/|"run": ")([^/"]+)')


def commits_in(record: Mapping[str, Any], item: str = "") -> str:
    """Return the commits of the code that a record names.

    Args:
        record: the record of a study, or of a run or evaluation.
        item: the id `paper/item`, if only the part of a study with that item counts. Default: all parts.

    Returns:
        The first 12 digits of each commit and whether the code differed from it, such as "699d2ba1b568, 8eff83b0c1d2
        with uncommitted changes", or an empty string if no commit is recorded.
    """
    parts = [part for part in record.get("parts") or () if not item or item in part["items"]]
    commits: dict[str, None] = {}
    for part in parts or [record]:
        if part.get("commit"):
            commits[part["commit"][:12]] = None
    if not commits:
        return ""
    return ", ".join(commits) + (" with uncommitted changes" if record.get("dirty") else "")


def records_of(items: Iterable[ItemResult], folder: Path) -> tuple[Records, Records]:
    """Load the provenance records of the numbers of some items.

    Missing records are empty dicts.

    Args:
        items: the results of the items.
        folder: the results folder.

    Returns:
        Dict from run to record, and dict from evaluation file to record.

    Raises:
        BadInput: if a file is broken.
    """
    encoders: set[str] = set()
    waiting = []
    for cell in chain.from_iterable(item.cells for item in items):
        encoders.update(cell.encoders)
        for each in cell.values:
            if each.run and each.value is not None:
                waiting.append(each.run)
    evaluations = {}
    for encoder in sorted(encoders):
        for file in sorted((folder / "encoders" / encoder).glob("*.json")):
            evaluations[str(file)] = record_in(file)
    records: Records = {}
    for name, evaluation in evaluations.items():
        records[name] = _as_dict(evaluation.get("provenance"))
        waiting += _runs_read(evaluation)
    runs: Records = {}
    while waiting:
        run = waiting.pop()
        if run not in runs:
            runs[run] = record_in(folder / "runs" / run / PROVENANCE)
            waiting += _runs_read(runs[run])
    return runs, records


def _runs_read(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the runs that a record mentions."""
    return READ.findall(json.dumps([record.get("encoder"), record.get("job")]))


def record_in(file: Path) -> Mapping[str, Any]:
    """Load the dict in a JSON file.

    Returns an empty dict if the file does not exist or contains something else.
    """
    return _as_dict(read_unchanged(file)) if file.is_file() else {}


def _as_dict(document: Any) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def common_origin(*groups: Records) -> dict[str, Any]:
    """Return the code and machine entries shared by all records.

    Args:
        groups: dicts of records; empty records are skipped.

    Returns:
        The entries; `dirty` is true if it is true in any record.
    """
    records = list(filter(None, chain.from_iterable(group.values() for group in groups)))
    common = {}
    if records:
        for key in MADE_WITH:
            if key in records[0] and all(each.get(key) == records[0][key] for each in records):
                common[key] = records[0][key]
    if any(each.get("dirty") for each in records):
        common["dirty"] = True
    return common
