"""The copies of specifications next to the outputs of finished jobs.

A copy also describes each output, so that a file that was changed since is not used.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.compile.job import COPY, SUFFIX
from replicse.errors import BadInput
from replicse.files import read_json, sha256_of, write_text

REMEDY = "delete it and run the study again"


def read_copy(file: Path) -> dict[str, Any]:
    """Load the copy of a specification.

    Args:
        file: the path of the copy.

    Returns:
        A dict with `specification` and `written`; empty if the file does not exist or is broken.
    """
    try:
        copy = read_json(file)
    except BadInput:
        return {}
    if not isinstance(copy, dict) or not isinstance(copy.get("written"), dict):
        return {}
    specification = copy.get("specification")
    is_valid = isinstance(specification, dict) and isinstance(specification.get("digests"), dict)
    return copy if is_valid else {}


def write_copy(file: Path, specification: Mapping[str, Any]) -> None:
    """Write the copy of a specification with a description of each output."""
    written = {}
    for output in specification["outputs"]:
        written[output] = describe_file(Path(output))
    document = {"specification": specification, "written": written}
    write_text(file, json.dumps(document, ensure_ascii=False) + "\n")


# Earlier versions described files above this size only by the size.
LARGEST_HASHED = 1_000_000


def describe_file(file: Path) -> dict[str, Any]:
    """Return `bytes` and `sha256` of a file.

    The modification time is of no use, because Snakemake sets it for all outputs of a finished job.
    """
    return {"bytes": file.stat().st_size, "sha256": sha256_of(file)}


def is_unchanged(file: str, description: Any) -> bool:
    """Return whether a file exists and has a description of `describe_file`."""
    if not Path(file).is_file() or not isinstance(description, Mapping):
        return False
    size = Path(file).stat().st_size
    if size != description.get("bytes"):
        return False
    if "sha256" not in description:
        return size > LARGEST_HASHED
    return sha256_of(file) == description["sha256"]


def check_unchanged(file: Path | str) -> bool:
    """Check that an output is unchanged since the job wrote it.

    Args:
        file: the output of a job.

    Returns:
        Whether the job described the file; False if there is no copy, because a job of the workflow did not write the
        file.

    Raises:
        BadInput: if the file was changed.
    """
    for copy in _copies_near(Path(file)):
        for name, description in read_copy(copy).get("written", {}).items():
            # The names are relative to the folder where the job ran.
            if Path(name).parts[-2:] == Path(file).parts[-2:]:
                if not is_unchanged(str(file), description):
                    raise BadInput(f"{file}: changed since its job wrote it; {REMEDY}")
                return True
    return False


def read_unchanged(file: Path | str) -> Any:
    """Load a JSON file that is unchanged since the job wrote it.

    Args:
        file: the output of a job, or any other file.

    Returns:
        The data.

    Raises:
        BadInput: if the file was changed, or is not JSON.
    """
    check_unchanged(file)
    return read_json(file)


def check_inputs(files: Iterable[str]) -> None:
    """Check that the outputs of previous jobs are unchanged.

    Args:
        files: the inputs of a job. All outputs of the jobs that wrote them are checked, because an input can stand for
            a folder.

    Raises:
        BadInput: if a file was changed.
    """
    inputs = list(files)
    copies: dict[Path, str] = {}
    for file in inputs:
        copies |= dict.fromkeys(_copies_near(Path(file)), file)
    for copy, file in copies.items():
        for name, description in read_copy(copy).get("written", {}).items():
            if Path(name).is_file() and not is_unchanged(name, description):
                # Snakemake misses deleted inputs only, and then its job writes all outputs again.
                remedy = REMEDY if name in inputs else f"delete {file} and run the study again"
                raise BadInput(f"{name}: changed since its job wrote it; {remedy}")


def _copies_near(file: Path) -> Iterator[Path]:
    """Yield the places where the copy of the job of a file can be."""
    yield file.with_name(f"{file.name}{SUFFIX}")
    yield file.parent / COPY
    yield file.parent.parent / COPY
