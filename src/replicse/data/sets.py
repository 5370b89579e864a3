"""Record the files of evaluation datasets in a data root, and check them."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.data.sts import STS_SPLITS, WHOLE, load_sts, senteval_root, sts_files
from replicse.data.transfer import load_transfer, transfer_files
from replicse.errors import BadInput, MissingData
from replicse.files import read_json, sha256_of
from replicse.registry.corpora import STS_TASKS
from replicse.registry.suites import TRANSFER_TASKS

# The number of rows by dataset, such as `data/sts/STS-B/dev`; for a dataset of several files by file.
Sizes = Mapping[str, int | Mapping[str, int]]


def evaluation_files(root: Path) -> dict[str, dict[str, list[Path]]]:
    """Return the files of each complete evaluation dataset, by part.

    Args:
        root: The data root, a folder of datasets.

    Returns:
        A dict from datasets to dicts from parts to lists of files. Each split of a transfer task has one
        part, "". The dict is empty if there is no SentEval folder.
    """
    try:
        downstream = senteval_root(root)
    except MissingData:
        return {}
    names: dict[str, dict[str, tuple[str, ...]]] = {}
    for task in STS_TASKS:
        for split in STS_SPLITS.get(task, ("test",)):
            names[f"data/sts/{task}/{split}"] = sts_files(task, split)
    for task in TRANSFER_TASKS:
        for split, files in transfer_files(task).items():
            names[f"data/transfer/{task}/{split}"] = {"": files}
    complete = {}
    for name, by_part in names.items():
        parts: dict[str, list[Path]] = {}
        for part, files in by_part.items():
            parts[part] = [downstream / file for file in files]
        if all(file.is_file() for file in _all(parts)):
            complete[name] = parts
    return complete


def recorded_sets(root: Path, sizes: Sizes, patterns: Sequence[str] = ("*",)) -> dict[str, Any]:
    """Return rows by part and SHA-256 by file of each evaluation dataset.

    Args:
        root: The data root, a folder of datasets.
        sizes: The expected number of rows by dataset.
        patterns: A list of patterns of the datasets' names. Default: all datasets.

    Returns:
        A dict from datasets to dicts with `rows` and `sha256`.

    Raises:
        BadInput: If a dataset cannot be read, or does not have the expected number of rows.
    """
    sets = {}
    for name, parts in evaluation_files(root).items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        rows = _rows(root, name)
        wanted = sizes.get(name, {})
        # A dataset of one file has one size; the part is named like the task, or "".
        if isinstance(wanted, int):
            wanted = dict.fromkeys(rows, wanted)
        for part, expected in wanted.items():
            if rows.get(part) != expected:
                files = " and ".join(map(str, parts[part]))
                problem = f"{rows[part]:,} rows of {name.removeprefix('data/')}; expected {expected:,}"
                raise BadInput(f"{files}: {problem}; {WHOLE}")
        hashes = {str(file.relative_to(root)): sha256_of(file) for file in _all(parts)}
        sets[name] = {"rows": rows, "sha256": hashes}
    return sets


def check_sets(root: Path, recorded: Mapping[str, Any], record: Path) -> None:
    """Check that no file of an evaluation dataset has changed.

    Args:
        root: The data root, a folder of datasets.
        recorded: A dict of the recorded files and hashes of each dataset.
        record: The file of the record, for the message.

    Raises:
        BadInput: If a file has changed.
    """
    for entry in recorded.values():
        for file, expected in entry["sha256"].items():
            path = root / file
            if not path.is_file() or sha256_of(path) != expected:
                raise BadInput(
                    f"{path} is not the file in {record}; put it back, or delete the record to create it again"
                )


def _all(parts: Mapping[str, list[Path]]) -> Iterator[Path]:
    return chain.from_iterable(parts.values())


def _rows(root: Path, name: str) -> dict[str, int]:
    """Return the number of rows of a dataset by part."""
    _, kind, task, split = name.split("/")
    if kind == "sts":
        return {subset.name: len(subset.gold) for subset in load_sts(root, task, split)}
    return {"": len(load_transfer(root, task).splits[split].labels)}


def data_folder(place: Path) -> Path:
    """Return the data root of a data record, or the folder itself.

    Args:
        place: A folder, or the `data.json` of a study.

    Raises:
        BadInput: If the file is not a data record, or an evaluation dataset has changed since it was recorded.
    """
    if not place.is_file():
        return place
    record = read_json(place)
    try:
        root = Path(record["root"])
        check_sets(root, record["sets"], place)
    except (AttributeError, KeyError, TypeError):
        raise BadInput(f"{place} is not a data record; use the data.json of a study, or a folder") from None
    return root
