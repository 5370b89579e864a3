"""Files written aside and then renamed, so that a kill never leaves half of one."""

import csv
import errno
import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, Failed, MissingData

# A disk with so few bytes left is full: a writer stops where its next block does not fit.
ALMOST_NOTHING = 1 << 20
POINTER = b"version https://git-lfs.github.com/spec/"
# More than any record of a study has: the largest, a table of a thousand runs, is a hundredth of it.
LARGEST = 256 << 20


@contextmanager
def atomic_write(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; rename it to `path` when the block succeeds."""
    target = Path(path)
    if target.is_dir():
        raise BadInput(f"{target}: a folder; name a file to write")
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def not_written(path: Path | str, error: Exception) -> Failed:
    """Return the sentence of a file, or of one in a folder, that a library could not write.

    A library that is no part of Python says of a full disk where its writer stopped, not why.
    """
    place = Path(path) if Path(path).is_dir() else Path(path).parent
    full = (
        not isinstance(error, OSError) and place.is_dir() and shutil.disk_usage(place).free < ALMOST_NOTHING
    )
    why = os.strerror(errno.ENOSPC) if full else " ".join(str(error).split())[:200]
    return Failed(
        f"{path}: cannot be written ({why}); free space on its disk or make it writable, then start again"
    )


def write_text(path: Path | str, text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Write indented JSON with sorted keys atomically."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path | str, most: int = LARGEST) -> Any:
    """Return the value of a JSON file; MissingData where it is absent, BadInput where it is broken or too large."""
    try:
        return json.loads(read_text(Path(path), most=most))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON ({error}); fix it, or delete it and make it again") from None


def write_rows(path: Path | str, fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as CSV under these fields atomically and return how many; None is written as nothing."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fields, lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        writer.writerow(row)
        count += 1
    write_text(path, stream.getvalue())
    return count


def read_rows(path: Path | str) -> list[dict[str, str]]:
    """Return the rows of a CSV file as text by field; MissingData where it is absent, BadInput where it is broken."""
    reader = csv.DictReader(io.StringIO(read_text(Path(path)), newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise BadInput(
            f"{path}:{reader.line_num}: not CSV ({error}); fix it, or delete it and make it again"
        ) from None
    if not reader.fieldnames:
        raise BadInput(f"{path}: no header; fix it, or delete it and make it again")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise BadInput(
                f"{path}: row {number} has not as many cells as the header; fix it, or delete it and make it again"
            )
    return rows


def read_text(path: Path, remedy: str = "fix it, or delete it and make it again", most: int = LARGEST) -> str:
    """Return the UTF-8 text of a file, line ends as they are.

    Raises MissingData where it is absent, BadInput where it is no regular file, no UTF-8, or larger than `most` bytes.
    """
    try:
        size = checked_size(path)
        if size > most:
            raise BadInput(f"{path}: {size:,} bytes; expected at most {most:,}")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start + 1} is not UTF-8; {remedy}") from None


def checked_size(path: Path | str, remedy: str = "") -> int:
    """Return the bytes of a regular file: a pipe or a device has no end, and whoever read it would wait for ever.

    Raises MissingData, with a remedy, where the file is absent, BadInput for what is no file.
    """
    try:
        status = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(f"{path}: no such file{remedy and f'; {remedy}'}") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise BadInput(f"{path}: {what}, not a regular file; name a file")
    return status.st_size


def below(folder: Path, name: object, what: str) -> Path:
    """Return the path of a name below a folder; BadInput for one that leaves it."""
    if isinstance(name, str) and "\0" not in name:
        parts = Path(name).parts
        if parts and parts[0] != "/" and ".." not in parts:
            return folder / name
    raise BadInput(f"{f'{name!r}'[:80]}: expected {what}: no absolute path, no ..")


def check_fetched(path: Path | str) -> None:
    """Raise BadInput where git-lfs left a pointer in the place of a file that was not fetched."""
    checked_size(path)
    with Path(path).open("rb") as stream:
        if stream.read(len(POINTER)) == POINTER:
            raise BadInput(f"{path}: a git-lfs pointer, not the file itself; fetch it, as by git lfs pull")


def copy_file(source: Path | str, target: Path | str) -> None:
    """Copy the bytes of a file atomically; BadInput for a pointer of git-lfs."""
    check_fetched(source)
    with atomic_write(target) as temporary:
        shutil.copyfile(source, temporary)


def sha256_of(path: Path | str) -> str:
    """Return the sha256 of a file's bytes in hexadecimal; BadInput and MissingData as `checked_size`."""
    checked_size(path)
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
