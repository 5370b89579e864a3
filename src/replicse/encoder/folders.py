"""What the folders of trained and downloaded encoders hold: recorded, checked, and put back from a copy where lost."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import copy_file, read_json, sha256_of, write_json
from replicse.registry.artefacts import METRICS, WEIGHTS

# What a run, and what a download leaves beside its files.
RECORDS = ("checkpoint.json", "hub.json")
CHECKPOINT = re.compile(r"trajectory/step-\d+")


def record_folder(folder: Path, run: str) -> None:
    """Write what a folder of a run holds: the run, and the sha256 of each file of it."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] != ".")
    digests = {path.name: sha256_of(path) for path in files if path.name != RECORDS[0]}
    write_json(folder / RECORDS[0], {"run": run, "sha256": digests})


def _recorded(file: Path) -> tuple[str | None, dict[str, str]]:
    """Return the run that a record names, and the sha256 of each file; BadInput where it is none."""
    record = read_json(file)
    try:
        return record.get("run"), dict(record["sha256"])
    except (AttributeError, KeyError, TypeError, ValueError):
        remedy = f"delete {file.parent} to have it made again"
        raise BadInput(f"{file}: no record of an encoder; {remedy}") from None


def run_metrics(run: Path) -> Mapping[str, Any]:
    """Return the record of a run: its `seconds`, the names of its `checkpoints`; BadInput for another file."""
    file = run / METRICS
    record = read_json(file)
    kept = record.get("checkpoints", []) if isinstance(record, dict) else None
    if (
        not isinstance(kept, list)
        or not all(isinstance(name, str) and CHECKPOINT.fullmatch(name) for name in kept)
        or not isinstance(record.get("seconds"), int | float)
    ):
        raise BadInput(f"{file}: no record of a run; delete {run} to train it again")
    return record


def check_folder(folder: Path, run: str | None = None) -> None:
    """Raise BadInput where a folder is not what its run or download has recorded, or not of the run that is expected.

    A lost file that another checkpoint of the run has too is put back. Nothing is said of a folder without a record,
    which neither has written.
    """
    if (folder / RECORDS[0]).is_file():
        restore_run(folder.parent)
    for file in filter(Path.is_file, (folder / name for name in RECORDS)):
        made, digests = _recorded(file)
        remedy = f"delete {folder} to have a study make it again, or copy all of it"
        if None not in (run, made) and run != made:
            raise BadInput(f"{folder}: a checkpoint of run {made}, not of {run}; {remedy}")
        for name, digest in digests.items():
            if not (folder / name).is_file():
                raise MissingData(f"{folder / name}: no such file, but {file.name} names it; {remedy}")
            if sha256_of(folder / name) != digest:
                raise BadInput(f"{folder / name}: another sha256 than {file.name} says; {remedy}")


def restore_run(folder: Path) -> None:
    """Put back what a run's checkpoints have lost and another one of them still holds: settings and tokenizer.

    Not the weights: the workflow knows of them, and makes them again.
    """
    records = {file.parent: _digests(file) for file in folder.glob(f"*/{RECORDS[0]}")}
    for place, digests in records.items():
        for name, digest in digests.items():
            if name != WEIGHTS and not (place / name).exists():
                others = (other / name for other, its in records.items() if its.get(name) == digest)
                whole = next((file for file in others if file.is_file() and sha256_of(file) == digest), None)
                if whole is not None:
                    copy_file(whole, place / name)


def _digests(file: Path) -> dict[str, str]:
    try:
        return _recorded(file)[1]
    except BadInput:
        return {}  # told by who reads the folder
