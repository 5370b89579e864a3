"""Files from their original addresses: resumed where they broke off, and checked by size and sha256.

The hub's own library fetches them: pooch, which checks digests too, starts again after every break.
"""

import shutil
import zipfile
from pathlib import Path

from huggingface_hub.file_download import http_get

from replicse.data.hub import FAILURES
from replicse.errors import MissingData
from replicse.files import atomic_write, sha256_of
from replicse.registry.downloads import Download


def download(source: Download, target: Path) -> None:
    """Fetch a file to `target`; what has arrived of it is kept next to it as `.part`, from which a download resumes.

    Raises MissingData where the address does not answer, and where what arrives is not what it should be.
    """
    part = target.with_name(target.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        _resume(source, part)
    except FAILURES as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        remedy = f"fetch it again, or put it at {target}"
        raise MissingData(f"{source.address} cannot be downloaded ({reason}); {remedy}") from error
    _check(source, part)
    if source.member is None:
        part.rename(target)
        return
    try:
        with (
            zipfile.ZipFile(part) as archive,
            archive.open(source.member) as packed,
            atomic_write(target) as aside,
            aside.open("wb") as out,
        ):
            shutil.copyfileobj(packed, out)
    except (zipfile.BadZipFile, KeyError) as error:
        part.unlink()
        raise MissingData(f"{source.address}: no {source.member} in it ({error}); it was removed") from None
    part.unlink()


def _resume(source: Download, part: Path) -> None:
    """Append to a file what is still missing of it.

    No download is resumed where the size is not known, or known from an older copy alone, as without a sha256: an
    address does not say that nothing is missing.
    """
    size = source.bytes if source.sha256 else None
    with part.open("ab") as stream:
        if size is None or stream.tell() > size:
            stream.seek(0)
            stream.truncate()
        http_get(
            source.address,
            stream,
            resume_size=stream.tell(),
            expected_size=size,
            displayed_filename=part.stem,
        )


def _check(source: Download, part: Path) -> None:
    """Raise MissingData where a file has another sha256, and remove it."""
    if source.sha256 and (digest := sha256_of(part)) != source.sha256:
        part.unlink()
        wrong = f"its sha256 is {digest[:12]}, expected {source.sha256[:12]}"
        raise MissingData(f"{source.address}: {wrong}; it was removed, fetch it again")
