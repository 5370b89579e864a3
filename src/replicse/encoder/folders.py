"""Folders of encoders: find them, record what they contain, and check it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import read_json, sha256_of, write_json
from replicse.registry.artefacts import CONFIG, METRICS, WEIGHTS

# What a run, and what a download leaves beside its files.
RECORDS = ("checkpoint.json", "hub.json")
# A study names the folders of its checkpoints by the run and the checkpoint: who opens one says which is meant.
_OF_STUDY = re.compile(r".*/([^/]+-s\d+-[0-9a-f]{12})/(best|last|trajectory/step-\d+)")
# Each of these files makes a folder an encoder: of transformers, of sentence-transformers, of peft.
MODULES, ADAPTER = "modules.json", "adapter_config.json"
READABLE = (WEIGHTS, "pytorch_model.bin")
_HUB_ID = re.compile(r"(?P<repo>\w[\w.-]*(/[\w.-]+)?)(@(?P<revision>[\w.-]+))?")


def encoder_folder(folder_or_hub_id: str | Path) -> Path:
    """Return the folder of an encoder, downloaded if it is a hub id.

    Raises:
        MissingData: there is no such folder and no such id, or the folder contains no encoder.
    """
    name = str(folder_or_hub_id)
    if Path(name).is_dir():
        check_is_encoder(Path(name))
        return Path(name)
    if Path(name).is_file():
        raise BadInput(f"{name}: a file; name its folder")
    hub_id = _HUB_ID.fullmatch(name)
    if hub_id is None:
        raise MissingData(f"{name}: no such folder, and no hub id (name/model or name/model@revision) either")
    from replicse.data.hub import cached_encoder

    try:
        return cached_encoder(hub_id["repo"], hub_id["revision"])[0]
    except MissingData as error:
        raise MissingData(f"{name}: no such folder here; as the hub id that it may be: {error}") from error


def check_is_encoder(folder: Path) -> None:
    """Raise MissingData for a folder without an encoder; the error names those below it."""
    if any((folder / name).is_file() for name in (CONFIG, MODULES, ADAPTER)):
        return
    below = list_encoders_below(folder)
    remedy = "name a folder with a Hugging Face encoder"
    if below:
        more = ", ..." if len(below) > 5 else ""
        remedy = f"name an encoder below it: {', '.join(below[-5:])}{more}"
    raise MissingData(f"{folder / CONFIG}: no such file; {remedy}")


def list_encoders_below(folder: Path) -> list[str]:
    """Return the encoders below a folder, in natural order, as `checkpoint-500`.

    Of a folder of the hub's cache, the snapshot that its `refs/main` names is the only one.
    """
    main = folder / "refs" / "main"
    if main.is_file() and (folder / "snapshots" / main.read_text().strip()).is_dir():
        return [f"snapshots/{main.read_text().strip()}"]
    patterns = ("*", "*/*", "*/snapshots/*")
    places = [place for pattern in patterns for place in folder.glob(pattern) if _is_encoder(place)]
    # A folder of sentence-transformers has one encoder, whatever lies below it.
    names = {place.relative_to(folder).as_posix() for place in places if place.parent not in places}
    return sorted(names, key=lambda name: [part.zfill(20) for part in re.split(r"(\d+)", name)])


def _is_encoder(folder: Path) -> bool:
    """Return whether a folder has both settings and weights, or the list of modules of an encoder."""
    if (folder / MODULES).is_file() or (folder / ADAPTER).is_file():
        return True
    weights = [f"{name}{end}" for name in READABLE for end in ("", ".index.json")]
    return (folder / CONFIG).is_file() and any((folder / name).is_file() for name in weights)


def record_folder(folder: Path, run: str, checkpoint: str) -> None:
    """Write what a folder of a run holds: the run, which checkpoint of it, and the sha256 of each file."""
    write_record(folder / RECORDS[0], {"run": run, "checkpoint": checkpoint})


def write_record(record: Path, facts: Mapping[str, str]) -> None:
    """Write what a folder is made of into a record in it: some facts, and the sha256 of each file below the folder."""
    folder = record.parent
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    digests = {str(path.relative_to(folder)): sha256_of(path) for path in files if path != record}
    write_json(record, {**facts, "sha256": digests})


def is_recorded(folder: Path) -> bool:
    """Return whether a run or a preparation has written a folder, so that it holds what this package writes."""
    return any((folder / name).is_file() for name in RECORDS)


def run_metrics(run: Path) -> dict[str, Any]:
    """Return the record of a run: its `seconds`, the names of its `checkpoints`, ..."""
    return read_json(run / METRICS)


def check_folder(folder: Path, run: str | None = None) -> None:
    """Raise BadInput where a folder is not what its run or download has recorded, or not of the run that is expected.

    A folder of a study must be of the run and the checkpoint that it is named by. Nothing is said of any other folder
    without a record, which neither has written.
    """
    named = _OF_STUDY.fullmatch(folder.absolute().as_posix())
    remedy = f"delete {folder} to have the study make it again" if named else "copy all of the folder"
    if named and not (folder / RECORDS[0]).is_file():
        raise MissingData(f"{folder}: no {RECORDS[0]}, so not a checkpoint of run {named[1]}; {remedy}")
    for file in filter(Path.is_file, (folder / name for name in RECORDS)):
        record = read_json(file)
        made, which = record.get("run"), record.get("checkpoint")
        if made and made != (wanted := run or (named[1] if named else made)):
            raise BadInput(f"{folder}: a checkpoint of run {made}, not of {wanted}; {remedy}")
        if made and named and which != named[2]:
            raise BadInput(f"{folder}: the checkpoint {which} of its run, not {named[2]}; {remedy}")
        for name, digest in record["sha256"].items():
            if not (folder / name).is_file():
                raise MissingData(f"{folder / name}: no such file, but {file.name} names it; {remedy}")
            if sha256_of(folder / name) != digest:
                raise BadInput(f"{folder / name}: another sha256 than {file.name} says; {remedy}")
