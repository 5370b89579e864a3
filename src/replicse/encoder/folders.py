"""Folders of encoders: find them, record their content, and check it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import read_json, sha256_of, write_json
from replicse.registry.artefacts import CONFIG, METRICS, WEIGHTS

# The records that a run and a download write into a folder.
RECORDS = ("checkpoint.json", "hub.json")
# The path of a checkpoint in a study, with run and checkpoint.
_OF_STUDY = re.compile(r".*/([^/]+-s\d+-[0-9a-f]{12})/(best|last|trajectory/step-\d+)")
# Each of these files makes a folder an encoder: of transformers, of sentence-transformers, of peft.
MODULES, ADAPTER = "modules.json", "adapter_config.json"
READABLE = (WEIGHTS, "pytorch_model.bin")
_HUB_ID = re.compile(r"(?P<repo>\w[\w.-]*(/[\w.-]+)?)(@(?P<revision>[\w.-]+))?")


def encoder_folder(folder_or_hub_id: str | Path) -> Path:
    """Return the folder of an encoder; a hub id is downloaded if necessary.

    Args:
        folder_or_hub_id: A folder, or a string such as "name/model" or "name/model@revision".

    Returns:
        The folder, in the cache of the hub for a hub id.

    Raises:
        BadInput: If the path is a file.
        MissingData: If there is no such folder and no such id, or the folder contains no encoder.
    """
    name = str(folder_or_hub_id)
    if Path(name).is_dir():
        check_is_encoder(Path(name))
        return Path(name)
    if Path(name).is_file():
        raise BadInput(f"{name}: expected a folder, not a file; specify the folder of the encoder")
    hub_id = _HUB_ID.fullmatch(name)
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(hub_id["repo"] if hub_id else name)
    except HFValidationError:
        hub_id = None
    if hub_id is None:
        raise MissingData(f"{name}: neither a folder nor a hub id (name/model or name/model@revision)")
    from replicse.data.hub import cached_encoder

    try:
        return cached_encoder(hub_id["repo"], hub_id["revision"])[0]
    except MissingData as error:
        raise MissingData(f"{name}: no such folder here; as a hub id: {error}") from error


def check_is_encoder(folder: Path) -> None:
    """Raise an error if a folder does not contain an encoder.

    Args:
        folder: The folder to check.

    Raises:
        MissingData: If the folder has no encoder. The message lists encoders in its subfolders.
    """
    if any((folder / name).is_file() for name in (CONFIG, MODULES, ADAPTER)):
        return
    below = list_encoders_below(folder)
    remedy = "specify a folder with a Hugging Face encoder"
    if below:
        more = ", ..." if len(below) > 5 else ""
        remedy = f"specify an encoder below it: {', '.join(below[-5:])}{more}"
    raise MissingData(f"{folder / CONFIG}: the file does not exist; {remedy}")


def list_encoders_below(folder: Path) -> list[str]:
    """List the encoders below a folder, such as `checkpoint-500`.

    In a folder of the hub's cache, only the snapshot in `refs/main` is listed.

    Args:
        folder: The folder to search.

    Returns:
        A list of paths relative to the folder, in natural order.
    """
    main = folder / "refs" / "main"
    if main.is_file() and (folder / "snapshots" / main.read_text().strip()).is_dir():
        return [f"snapshots/{main.read_text().strip()}"]
    places: list[Path] = []
    for pattern in ("*", "*/*", "*/snapshots/*"):
        places += filter(_is_encoder, folder.glob(pattern))
    # A folder of sentence-transformers is one encoder, including subfolders.
    names = {place.relative_to(folder).as_posix() for place in places if place.parent not in places}
    return sorted(names, key=_natural_key)


def _natural_key(name: str) -> list[str]:
    """Return a key that sorts numbers in names by value."""
    return [part.zfill(20) for part in re.split(r"(\d+)", name)]


def _is_encoder(folder: Path) -> bool:
    """Return whether a folder has config and weights, modules or an adapter."""
    if (folder / MODULES).is_file() or (folder / ADAPTER).is_file():
        return True
    names = [*READABLE, *[f"{name}.index.json" for name in READABLE]]
    return (folder / CONFIG).is_file() and any((folder / name).is_file() for name in names)


def record_folder(folder: Path, run: str, checkpoint: str) -> None:
    """Write the record of a checkpoint.

    It contains the run, the checkpoint, and the SHA-256 of each file.

    Args:
        folder: The folder of the checkpoint.
        run: The id of the run.
        checkpoint: The name of the checkpoint, such as "best".
    """
    write_record(folder / RECORDS[0], {"run": run, "checkpoint": checkpoint})


def write_record(record: Path, facts: Mapping[str, str]) -> None:
    """Write a record with the SHA-256 of each file in the folder.

    Subfolders are included, hidden files and the record are not.

    Args:
        record: The file to write. Its folder is recorded.
        facts: Other entries of the record, a dict of strings.
    """
    folder = record.parent
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    digests = {str(path.relative_to(folder)): sha256_of(path) for path in files if path != record}
    write_json(record, {**facts, "sha256": digests})


def is_recorded(folder: Path) -> bool:
    """Return whether a run or a preparation has written a folder.

    Args:
        folder: The folder of an encoder.
    """
    return any((folder / name).is_file() for name in RECORDS)


def run_metrics(run: Path) -> dict[str, Any]:
    """Load the metrics of a run.

    Args:
        run: The folder of the run.

    Returns:
        A dict with `seconds`, `checkpoints` (a list of names), and more.
    """
    return read_json(run / METRICS)


def check_folder(folder: Path, run: str | None = None) -> None:
    """Raise an error if an encoder folder differs from the record.

    A folder that is a checkpoint of another run is refused too. The path of a checkpoint in a study should
    match the record. Other folders without a record are not checked.

    Args:
        folder: The folder of an encoder.
        run: The id of the expected run. Default: the run in the path, if the folder is in a study.

    Raises:
        MissingData: If a recorded file, or the record of a study's checkpoint, does not exist.
        BadInput: If run, checkpoint or a file differ from the record.
    """
    named = _OF_STUDY.fullmatch(folder.absolute().as_posix())
    remedy = (
        f"delete {folder}, and the study will create it again" if named else "copy all files of the folder"
    )
    if named and not (folder / RECORDS[0]).is_file():
        raise MissingData(f"{folder}: {RECORDS[0]} of run {named[1]} does not exist; {remedy}")
    expected_run = run or (named[1] if named else None)
    for file in [folder / name for name in RECORDS]:
        if not file.is_file():
            continue
        record = read_json(file)
        recorded_run, checkpoint = record.get("run"), record.get("checkpoint")
        if recorded_run and expected_run and recorded_run != expected_run:
            raise BadInput(
                f"{folder}: is a checkpoint of run {recorded_run}, not of {expected_run}; {remedy}"
            )
        if recorded_run and named and checkpoint != named[2]:
            raise BadInput(f"{folder}: is checkpoint {checkpoint} of the run, not {named[2]}; {remedy}")
        _check_digests(folder, file, record["sha256"], remedy)


def _check_digests(folder: Path, record: Path, digests: Mapping[str, str], remedy: str) -> None:
    """Raise an error if a recorded file does not exist or has another sha256."""
    for name, digest in digests.items():
        if not (folder / name).is_file():
            raise MissingData(
                f"{folder / name}: the file does not exist, but {record.name} lists it; {remedy}"
            )
        if sha256_of(folder / name) != digest:
            raise BadInput(f"{folder / name}: the SHA-256 differs from {record.name}; {remedy}")
