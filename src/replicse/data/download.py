"""Files from their original addresses: resumed where they broke off, and checked by size and sha256."""

import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path

from huggingface_hub.utils import tqdm

from replicse.data.hub import retried
from replicse.errors import MissingData
from replicse.files import atomic_write, sha256_of
from replicse.registry.corpora import Download

PIECE = 1 << 20
PATIENCE = 60.0  # seconds without a byte


def download(source: Download, target: Path, waits: Sequence[float] | None = None) -> None:
    """Fetch a file to `target`; what has arrived of it waits beside it as `.part` and is gone on with.

    Raises MissingData where the address does not answer, and where what arrives is not what it should be.
    """
    part = target.with_name(target.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        retried(lambda: _resume(source.address, part), waits)
    except (OSError, HTTPException) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        remedy = f"fetch it again, or put it at {target}"
        raise MissingData(f"{source.address} cannot be downloaded ({reason}); {remedy}") from error
    _check(source, part)
    if source.member is None:
        part.rename(target)
        return
    try:
        with zipfile.ZipFile(part) as archive, atomic_write(target) as aside:
            _unpack(archive, source.member, aside)
    except (zipfile.BadZipFile, KeyError) as error:
        part.unlink()
        raise MissingData(f"{source.address}: no {source.member} in it ({error}); it was removed") from None
    part.unlink()


def _unpack(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    with archive.open(member) as packed, target.open("wb") as out:
        shutil.copyfileobj(packed, out, PIECE)


def _resume(address: str, part: Path) -> None:
    """Append to a file what is still missing of it; begin anew where the server gives no ranges."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing is missing
            return
        raise
    with response, part.open("ab" if response.status == 206 else "wb") as out:
        have = out.tell()
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with tqdm(total=total, initial=have, unit="B", unit_scale=True, desc=part.stem) as progress:
            while piece := response.read(PIECE):
                out.write(piece)
                progress.update(len(piece))
        if total is not None and out.tell() < total:
            raise ConnectionError(f"the connection broke after {out.tell():,} of {total:,} bytes")


def _check(source: Download, part: Path) -> None:
    """Raise MissingData where a file has another size or sha256, and remove it."""
    size = part.stat().st_size
    wrong = f"{size:,} bytes, expected {source.bytes:,}" if source.sha256 and size != source.bytes else ""
    if not wrong and source.sha256 and (found := sha256_of(part)) != source.sha256:
        wrong = f"its sha256 is {found[:12]}, expected {source.sha256[:12]}"
    if wrong:
        part.unlink()
        raise MissingData(f"{source.address}: {wrong}; it was removed, fetch it again")
