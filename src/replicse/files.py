"""Files written aside and then renamed, so that a kill never leaves half of one."""

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

# What the system says where a disk, a quota or a limit on the size of a file is full.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# A disk with so few bytes left is full: a writer stops where its next block does not fit.
ALMOST_NOTHING = 1 << 20
POINTER = b"version https://git-lfs.github.com/spec/"


# Names of files that are being written: `.NAME.ID.tmp` next to the file NAME.
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


@contextmanager
def atomic_write(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; rename it to `path` when the block succeeds.

    Raises Failed where its disk is full or the folder takes no file.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise BadInput(f"{target}: no regular file, but a folder, pipe or device; name a file to write")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        # Unlike those of `tempfile`, with the permissions that the umask leaves.
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
    """Remove what killed processes were writing below some folders, last changed before a time; return how many."""
    count = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for file in (Path(place, name) for name in names if TEMPORARY.fullmatch(name)):
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime < before:
                        file.unlink()
                        count += 1
    return count


def not_written(path: Path | str, error: Exception) -> Failed:
    """Return the sentence of a file, or of one in a folder, that a library could not write.

    A library that is no part of Python says of a full disk where its writer stopped, not why.
    """
    place = Path(path) if Path(path).is_dir() else Path(path).parent
    said = getattr(error, "strerror", None)
    full = not said and place.is_dir() and shutil.disk_usage(place).free < ALMOST_NOTHING
    why = said or (os.strerror(errno.ENOSPC) if full else " ".join(str(error).split())[:200])
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


def write_ordered(path: Path | str, value: Any) -> None:
    """Write indented JSON whose keys keep their order atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path | str) -> Any:
    """Return the value of a JSON file; MissingData where it is absent, BadInput where it is broken."""
    with refusing(f"{path}: not JSON", "fix it, or make it again", ValueError):
        return json.loads(read_text(Path(path)))


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
    return [row for _, row in numbered_rows(path)]


def numbered_rows(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield what `read_rows` returns, each row with the number of its last line."""
    reader = csv.DictReader(io.StringIO(read_text(Path(path)), newline=""), strict=True)
    try:
        if not reader.fieldnames:
            raise BadInput(f"{path}: no header; fix it, or make it again")
        for row in reader:
            if None in row or None in row.values():
                problem = f"expected {len(reader.fieldnames)} cells, as many as the header has"
                raise BadInput(f"{path}:{reader.line_num}: {problem}; fix it, or make it again")
            yield reader.line_num, row
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: not CSV ({error}); fix it, or make it again") from None


def read_text(path: Path, remedy: str = "save it as UTF-8, or make it again") -> str:
    """Return the UTF-8 text of a file, line ends as they are.

    Raises MissingData where it is absent, BadInput where it cannot be read or is no UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")  # some editors and spreadsheets begin a file with a mark
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start + 1} is not UTF-8; {remedy}") from None


def check_there(path: Path | str, remedy: str) -> None:
    """Raise MissingData, with a remedy, where there is no such file."""
    if not Path(path).is_file():
        raise MissingData(f"{path}: no such file; {remedy}")


def below(folder: Path, name: object, what: str) -> Path:
    """Return the path of a name below a folder; BadInput for one that leaves it."""
    if isinstance(name, str) and name and not Path(name).is_absolute() and ".." not in Path(name).parts:
        return folder / name
    raise BadInput(f"{f'{name!r}'[:80]}: expected {what}: no absolute path, no ..")


def check_fetched(path: Path | str) -> None:
    """Raise BadInput where git-lfs left a pointer in the place of a file that was not fetched."""
    with Path(path).open("rb") as stream:
        if stream.read(len(POINTER)) == POINTER:
            raise BadInput(f"{path}: a git-lfs pointer, not the file itself; fetch it, as by git lfs pull")


def link(target: Path | str, folder: Path | str) -> str:
    """Return where a link in a file of a folder finds a target: absolute where the folder is a link to another place.

    There `..` leads a browser above the link, and who opens files above its target.
    """
    relative = Path(os.path.relpath(target, folder))
    same = Path(folder, relative).resolve() == Path(target).resolve()
    return (relative if same else Path(target).absolute()).as_posix()


def copy_file(source: Path | str, target: Path | str) -> None:
    """Copy the bytes of a file atomically; BadInput for a pointer of git-lfs."""
    check_fetched(source)
    with atomic_write(target) as temporary:
        shutil.copyfile(source, temporary)


def link_equal(source: Path, target: Path) -> None:
    """Make a file a hard link to another one with the same bytes; nothing if they differ or links are not possible."""
    if not filecmp.cmp(source, target, shallow=False):
        return
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    with suppress(OSError):
        temporary.hardlink_to(source)
        temporary.replace(target)
    temporary.unlink(missing_ok=True)


def sha256_of(path: Path | str) -> str:
    """Return the sha256 of a file's bytes in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
