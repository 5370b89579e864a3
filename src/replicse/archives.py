"""Archives that others made: read entry by entry, each checked before it is written, and nothing outside its folder."""

import hashlib
import json
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData
from replicse.files import LARGEST, checked_size

METADATA = "ro-crate-metadata.json"
MOST_ENTRIES, MOST_BYTES, MOST_METADATA = 20_000, 1 << 30, 64 << 20
LONGEST, DEEPEST = 240, 12
# No entry of a study expands so far; the first bytes of any may.
MOST_RATIO, SMALL = 400, 1 << 20
PART = r"[A-Za-z0-9_][A-Za-z0-9._@+=-]*"
NAME = re.compile(rf"{PART}(/{PART})*")
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, IndexError, OSError,
)  # fmt: skip


def unpack_crate(file: Path, folder: Path) -> list[str]:
    """Write the files of a crate below a folder and return their names, the metadata first.

    A crate lists each of its files with its sha256. BadInput, and nothing written, for what is no crate, an entry that
    leaves the folder, is a link, has a name other than plain letters and digits, expands beyond what a study has, is
    not listed, or has other bytes than listed.
    """
    try:
        checked_size(file)
        with zipfile.ZipFile(file) as archive:
            entries = _checked(file, archive)
            listed = _listed(file, archive, entries)
            texts = {name: _read(file, archive, entries[name]) for name in sorted(entries)}
    except MissingData:
        raise
    except BROKEN as error:
        raise BadInput(f"{file}: no readable zip archive ({str(error)[:120]}); ask for it again") from None
    for name in sorted(entries.keys() - {METADATA}):
        if name not in listed:
            raise BadInput(f"{file}: {METADATA} does not list {name}; nothing of it is read")
        if hashlib.sha256(texts[name]).hexdigest() != listed[name]:
            raise BadInput(f"{file}: {name} has another sha256 than {METADATA} lists; ask for it again")
    if absent := sorted(listed.keys() - entries.keys()):
        raise BadInput(
            f"{file}: {METADATA} lists {absent[0][:LONGEST]}, which is not in it; ask for it again"
        )
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    return [METADATA, *sorted(texts.keys() - {METADATA})]


def _checked(file: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name; BadInput names the first that may not be written."""
    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise BadInput(f"{file}: {len(infos):,} entries; at most {MOST_ENTRIES:,} are read")
    entries: dict[str, zipfile.ZipInfo] = {}
    taken: set[str] = set()
    for info in infos:
        if problem := _problem(info, taken):
            raise BadInput(f"{file}: entry {info.filename[:LONGEST]!r} {problem}; nothing of it is read")
        taken.add(info.filename.rstrip("/").lower())
        if not info.is_dir():
            entries[info.filename] = info
    # A file in the place of a folder that another file needs.
    above = {
        "/".join(name.split("/")[:count]).lower()
        for name in entries
        for count in range(1, name.count("/") + 1)
    }
    if clash := next((name for name in entries if name.lower() in above), ""):
        raise BadInput(f"{file}: entry {clash!r} is a file and a folder; nothing of it is read")
    total = sum(info.file_size for info in entries.values())
    if total > MOST_BYTES:
        raise BadInput(f"{file}: expands to {total:,} bytes; at most {MOST_BYTES:,} are read")
    if METADATA not in entries:
        raise BadInput(f"{file}: no {METADATA} in it, so it is no crate; make one with replicse pack")
    return entries


def _problem(info: zipfile.ZipInfo, taken: set[str]) -> str:
    """Return what keeps an entry from being written; blank where nothing does."""
    name, mode = info.filename.rstrip("/"), info.external_attr >> 16
    if len(name) > LONGEST or name.count("/") > DEEPEST or not NAME.fullmatch(name):
        return "is no plain path below the crate"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if name.lower() in taken:
        return "is there twice"
    if info.flag_bits & 1:
        return "is encrypted"
    if info.compress_type not in READABLE:
        return "is compressed in another way than deflate"
    if info.file_size > LARGEST or info.file_size > max(SMALL, MOST_RATIO * info.compress_size):
        return f"expands from {info.compress_size:,} to {info.file_size:,} bytes"
    return ""


def _read(file: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of an entry, never more than it says it has."""
    with archive.open(info) as stream:
        text = stream.read(info.file_size + 1)
    if len(text) != info.file_size:
        raise BadInput(f"{file}: entry {info.filename!r} has other bytes than it says; ask for it again")
    return text


def _listed(file: Path, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Return the sha256 of each file that the metadata lists."""
    if entries[METADATA].file_size > MOST_METADATA:
        raise BadInput(
            f"{file}: {METADATA} has {entries[METADATA].file_size:,} bytes; at most {MOST_METADATA:,} are read"
        )
    try:
        document = json.loads(_read(file, archive, entries[METADATA]))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file}: {METADATA} is not JSON ({str(error)[:80]}); ask for it again") from None
    return dict(_files(document))


def _files(document: Any) -> Iterator[tuple[str, str]]:
    """Yield name and sha256 of the files of a crate's metadata; what is no entity of a file is passed over."""
    graph = document.get("@graph") if isinstance(document, Mapping) else None
    for entity in graph if isinstance(graph, list) else ():
        if isinstance(entity, Mapping):
            name, kind, digest = (entity.get(key) for key in ("@id", "@type", "sha256"))
            if not isinstance(name, str) or "://" in name:
                continue
            if "File" in (kind if isinstance(kind, list) else [kind]):
                yield name, digest if isinstance(digest, str) else ""
