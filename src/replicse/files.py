"""Read and write files; after a crash there are no partial files."""

import csv
import errno
import filecmp
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from replicse.errors import BadInput, Failed, MissingData, refusing

# Error numbers if a disk or quota is full, or a file reaches the size limit.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# A disk with fewer free bytes is full, because a writer stops when the next block does not fit.
ALMOST_NOTHING = 1 << 20
POINTER = b"version https://git-lfs.github.com/spec/"
# Names of temporary files: `.NAME.ID.tmp` next to the file NAME.
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


@contextmanager
def atomic_write(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` when the block succeeds.

    Args:
        path: The file to write.

    Yields:
        The temporary path.

    Raises:
        BadInput: If the path is a folder, a pipe or a device.
        Failed: If the disk is full or the folder is not writable.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise BadInput(f"{target} is a folder, pipe or device; specify a regular file")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        # Files of `tempfile` would not have the permissions of the umask.
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        if error.errno in FULL or error.filename == str(temporary):
            raise not_written(target, error) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def remove_temporary_files(folders: Iterable[Path | str], before: float) -> int:
    """Remove temporary files of killed processes below some folders.

    Args:
        folders: The folders to search, with subfolders.
        before: A time in seconds of `time.time`. Only files that were last changed before it are removed.

    Returns:
        The number of removed files.
    """
    count = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in filter(TEMPORARY.fullmatch, names):
                file = Path(place, name)
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime < before:
                        file.unlink()
                        count += 1
    return count


def not_written(path: Path | str, error: Exception) -> Failed:
    """Return the error of a file that a library could not write.

    If the library does not report a full disk, the free space of the disk is checked.

    Args:
        path: The file or folder.
        error: The error of the library.
    """
    place = Path(path) if Path(path).is_dir() else Path(path).parent
    why = getattr(error, "strerror", None)
    if not why and place.is_dir() and shutil.disk_usage(place).free < ALMOST_NOTHING:
        why = os.strerror(errno.ENOSPC)
    why = why or " ".join(str(error).split())[:200]
    return Failed(
        f"{path}: cannot be written ({why}); free space on the disk or make it writable, then start again"
    )


def write_text(path: Path | str, text: str) -> None:
    """Write UTF-8 text atomically.

    Args:
        path: The file to write.
        text: The text.
    """
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Write indented JSON with sorted keys atomically.

    Args:
        path: The file to write.
        value: JSON-like data.
    """
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def write_ordered(path: Path | str, value: Any) -> None:
    """Write indented JSON with keys in their order atomically.

    Args:
        path: The file to write.
        value: JSON-like data.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path | str) -> Any:
    """Load a JSON file.

    Args:
        path: The file.

    Returns:
        The data: a dict, list, string, number, bool or None.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If it is not JSON.
    """
    with refusing(f"{path}: cannot parse JSON", "fix it, or create it again", ValueError):
        return parse_json(read_text(Path(path)))


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse JSON.

    Args:
        text: The JSON.
        **options: Further arguments of `json.loads`.

    Returns:
        The data: a dict, list, string, number, bool or None.

    Raises:
        ValueError: If it is not JSON, or is nested so deeply that Python cannot parse it.
    """
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write_rows(path: Path | str, fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as CSV atomically; None is an empty cell.

    Args:
        path: The file to write.
        fields: The names of the columns.
        rows: Dicts with these keys.

    Returns:
        The number of rows.
    """
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
    """Load the rows of a CSV file.

    Args:
        path: The file, with a header.

    Returns:
        A list of dicts from columns to strings.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If it is broken.
    """
    return [row for _, row in numbered_rows(path)]


def numbered_rows(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of `read_rows`, each with the number of the last line.

    Args:
        path: The file, with a header.
    """
    reader = csv.DictReader(io.StringIO(read_text(Path(path)), newline=""), strict=True)
    try:
        if not reader.fieldnames:
            raise BadInput(f"{path}: the header is missing; fix the file, or create it again")
        for row in reader:
            if None in row or None in row.values():
                problem = f"expected {len(reader.fieldnames)} cells, like the header"
                raise BadInput(f"{path}:{reader.line_num}: {problem}; fix it, or create it again")
            yield reader.line_num, row
    except csv.Error as error:
        problem = f"cannot parse CSV ({error}); fix it, or create it again"
        raise BadInput(f"{path}:{reader.line_num}: {problem}") from None


def read_text(path: Path, remedy: str = "save it as UTF-8, or create it again") -> str:
    """Load the UTF-8 text of a file with the line ends.

    If the file is not UTF-8, the default remedy says how to save the file again.

    Args:
        path: The file. A byte order mark is removed.
        remedy: The end of the message if the file is not UTF-8.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If it cannot be read or is not UTF-8.
    """
    # Reading would block forever. A shell's pipe, such as /dev/stdin or <(command), has an end.
    if path.is_fifo() and not path.is_relative_to("/dev"):
        raise BadInput(f"{path}: a pipe, not a file; remove it, or use a file")
    try:
        return path.read_bytes().decode("utf-8-sig")  # some editors and spreadsheets write a byte order mark
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(f"{path}: the file does not exist") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start + 1} is not UTF-8; {remedy}") from None


def check_there(path: Path | str, remedy: str) -> None:
    """Check that a file exists.

    Args:
        path: The file.
        remedy: The end of the message.

    Raises:
        MissingData: If the file does not exist.
    """
    if not Path(path).is_file():
        raise MissingData(f"{path}: the file does not exist; {remedy}")


def below(folder: Path, name: object, what: str) -> Path:
    """Return the path of a name below a folder.

    Args:
        folder: The folder.
        name: A relative path.
        what: A description of the expected name, for the message.

    Raises:
        BadInput: If it is not a string, or is not inside the folder.
    """
    if isinstance(name, str) and name and not Path(name).is_absolute() and ".." not in Path(name).parts:
        return folder / name
    raise BadInput(f"{f'{name!r}'[:80]}: expected {what}: a relative path without ..")


def check_fetched(path: Path | str) -> None:
    """Check that a file is not only a pointer of git-lfs.

    Args:
        path: The file.

    Raises:
        BadInput: If it is a pointer.
    """
    with Path(path).open("rb") as stream:
        if stream.read(len(POINTER)) == POINTER:
            raise BadInput(f"{path}: a git-lfs pointer, not the file itself; download it with git lfs pull")


def link(target: Path | str, folder: Path | str) -> str:
    """Return the path of a link from a file in a folder to a target.

    Args:
        target: The file or folder to link to.
        folder: The folder of the file that contains the link.

    Returns:
        A relative path. It is absolute if the folder is a symbolic link to another place, because a browser
        and a program resolve `..` differently there.
    """
    relative = Path(os.path.relpath(target, folder))
    same = Path(folder, relative).resolve() == Path(target).resolve()
    return (relative if same else Path(target).absolute()).as_posix()


def copy_file(source: Path | str, target: Path | str) -> None:
    """Copy a file atomically.

    Args:
        source: The file to copy.
        target: The file to write.

    Raises:
        BadInput: If the source is a pointer of git-lfs.
    """
    check_fetched(source)
    with atomic_write(target) as temporary:
        shutil.copyfile(source, temporary)


def link_equal(source: Path, target: Path) -> None:
    """Replace a file by a hard link to another file with the same bytes.

    Nothing changes if the bytes differ or the file system does not support links.

    Args:
        source: The file to link to.
        target: The file to replace.
    """
    if not filecmp.cmp(source, target, shallow=False):
        return
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    with suppress(OSError):
        temporary.hardlink_to(source)
        temporary.replace(target)
    temporary.unlink(missing_ok=True)


def sha256_of(path: Path | str) -> str:
    """Compute the SHA-256 of a file.

    Args:
        path: The file.

    Returns:
        A hexadecimal string.
    """
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
