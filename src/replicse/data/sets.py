"""Evaluation sets of a data root: recorded where data are made ready, checked where a job reads them."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from replicse.data.sts import STS_SPLITS, WHOLE, load_sts, senteval_root, sts_files
from replicse.data.transfer import load_transfer, transfer_files
from replicse.errors import BadInput, MissingData
from replicse.files import read_json, sha256_of
from replicse.registry.corpora import STS_TASKS
from replicse.registry.suites import TRANSFER_TASKS

Sizes = Mapping[
    str, int | Mapping[str, int]
]  # rows by set, as in `data/sts/STS-B/dev`; of several files by file


def evaluation_files(root: Path) -> dict[str, dict[str, list[Path]]]:
    """Return the files of each evaluation set whose files are all there, by set and by part; none without SentEval.

    A transfer set has one part, "", as has each of its splits.
    """
    try:
        downstream = senteval_root(root)
    except MissingData:
        return {}
    sts = {
        f"data/sts/{task}/{split}": sts_files(task, split)
        for task in STS_TASKS
        for split in STS_SPLITS.get(task, ("test",))
    }
    transfer = {
        f"data/transfer/{task}/{split}": {"": files}
        for task in TRANSFER_TASKS
        for split, files in transfer_files(task).items()
    }
    sets = {
        name: {part: [downstream / file for file in files] for part, files in parts.items()}
        for name, parts in (sts | transfer).items()
    }
    return {name: parts for name, parts in sets.items() if all(file.is_file() for file in _all(parts))}


def recorded_sets(root: Path, sizes: Sizes, patterns: Sequence[str] = ("*",)) -> dict[str, Any]:
    """Return rows by part and sha256 by file of each evaluation set that is there, of those of some patterns.

    Raises BadInput for a set that cannot be read and for another number of rows than `sizes` says.
    """
    sets = {}
    for name, parts in evaluation_files(root).items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        rows = _rows(root, name)
        wanted = sizes.get(name, {})
        # A set of one file has one size; its part is named like the task, or not at all.
        wanted = dict.fromkeys(rows, wanted) if isinstance(wanted, int) else wanted
        for part, expected in wanted.items():
            if rows.get(part) != expected:
                files = " and ".join(map(str, parts[part]))
                problem = f"{rows[part]:,} rows of {name.removeprefix('data/')}; expected {expected:,}"
                raise BadInput(f"{files}: {problem}; {WHOLE}")
        hashes = {str(file.relative_to(root)): sha256_of(file) for file in _all(parts)}
        sets[name] = {"rows": rows, "sha256": hashes}
    return sets


def check_sets(root: Path, recorded: Mapping[str, Any], record: Path) -> None:
    """Raise BadInput where a file of an evaluation set is not what the data record says."""
    for entry in recorded.values():
        for file, expected in entry["sha256"].items():
            path = root / file
            if not path.is_file() or sha256_of(path) != expected:
                raise BadInput(
                    f"{path}: not the file that {record} recorded; put it back, or delete the record to make it again"
                )


def _all(parts: Mapping[str, list[Path]]) -> Iterator[Path]:
    return (file for files in parts.values() for file in files)


def _rows(root: Path, name: str) -> dict[str, int]:
    """Return the rows of a set by part."""
    _, kind, task, split = name.split("/")
    if kind == "sts":
        return {subset.name: len(subset.gold) for subset in load_sts(root, task, split)}
    return {"": len(load_transfer(root, task).splits[split].labels)}


def data_folder(place: Path) -> Path:
    """Return the data root of a data record, or the folder itself.

    Raises BadInput for another file, and where an evaluation set has changed since it was recorded.
    """
    if not place.is_file():
        return place
    record = read_json(place)
    try:
        root = Path(record["root"])
        check_sets(root, record["sets"], place)
    except (AttributeError, KeyError, TypeError):
        raise BadInput(f"{place}: no data record; name one that the data job wrote, or a folder") from None
    return root
