"""What the folders of trained and downloaded encoders hold: recorded, and checked."""

from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import read_json, sha256_of, write_json
from replicse.registry.artefacts import METRICS

# What a run, and what a download leaves beside its files.
RECORDS = ("checkpoint.json", "hub.json")


def record_folder(folder: Path, run: str) -> None:
    """Write what a folder of a run holds: the run, and the sha256 of each file of it."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] != ".")
    digests = {path.name: sha256_of(path) for path in files if path.name != RECORDS[0]}
    write_json(folder / RECORDS[0], {"run": run, "sha256": digests})


def run_metrics(run: Path) -> dict[str, Any]:
    """Return the record of a run: its `seconds`, the names of its `checkpoints`, ..."""
    return read_json(run / METRICS)


def check_folder(folder: Path, run: str | None = None) -> None:
    """Raise BadInput where a folder is not what its run or download has recorded, or not of the run that is expected.

    Nothing is said of a folder without a record, which neither has written.
    """
    for file in filter(Path.is_file, (folder / name for name in RECORDS)):
        record = read_json(file)
        made = record.get("run")
        remedy = f"delete {folder} to have a study make it again, or copy all of it"
        if None not in (run, made) and run != made:
            raise BadInput(f"{folder}: a checkpoint of run {made}, not of {run}; {remedy}")
        for name, digest in record["sha256"].items():
            if not (folder / name).is_file():
                raise MissingData(f"{folder / name}: no such file, but {file.name} names it; {remedy}")
            if sha256_of(folder / name) != digest:
                raise BadInput(f"{folder / name}: another sha256 than {file.name} says; {remedy}")
