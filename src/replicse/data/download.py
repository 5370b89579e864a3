"""Download files from their original addresses.

A download resumes after a break, and the size and SHA-256 are checked. It uses the hub's library, because pooch
starts again after each break.
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
    """Download a file.

    The partial file is next to it with the suffix `.part`; the next download resumes from it.

    Args:
        source: The address, the size and the SHA-256.
        target: The path of the file to write.

    Raises:
        MissingData: If the address does not respond, or the file is not the expected one.
    """
    part = target.with_name(target.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        _resume(source, part)
    except FAILURES as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        remedy = f"download it again, or put the file at {target}"
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
        problem = f"{source.address} does not contain {source.member} ({error})"
        raise MissingData(f"{problem}; it was removed, download it again") from None
    part.unlink()


def _resume(source: Download, part: Path) -> None:
    """Append the missing bytes to a partial file.

    A download starts again if the size is not known, or is known only from an older copy (without a SHA-256),
    because the server does not report that a file is complete.
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
    """Remove a file with another SHA-256 and raise MissingData."""
    if source.sha256 and (digest := sha256_of(part)) != source.sha256:
        part.unlink()
        wrong = f"the SHA-256 is {digest[:12]}, expected {source.sha256[:12]}"
        raise MissingData(f"{source.address}: {wrong}; it was removed, download it again")
