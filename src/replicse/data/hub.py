"""The `hub` data source: training data, evaluation sets and encoders, downloaded at pinned revisions."""

import hashlib
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from huggingface_hub import constants, errors, get_session, snapshot_download

from replicse.data.delimited import csv_records
from replicse.data.sts import read_lines
from replicse.errors import BadInput, MissingData, check_known, refusing
from replicse.files import copy_file, sha256_of
from replicse.registry.corpora import SIMCSE_DATA

PATIENCE = 10.0  # seconds until the hub has answered at all
FAILURES = (OSError, errors.HTTPError, errors.EntryNotFoundError)
ABBREVIATED = re.compile("[0-9a-f]{7,39}")
FULL = "name all of its 40 digits, which replicse fetch --pin finds"
CHECKSUM = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
CARD = "README.md"
# What the libraries read of an encoder, and the same weights for other programs.
ENCODER_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")
OTHER_FORMATS = ("onnx/*", "openvino/*", "*.onnx")


# The revision that `replicse fetch --pin` looks up and pins in full. SentEval archives before it lack data: SUBJ had
# 20 subjective sentences (methods 6, pitfall 6).
SIMCSE_REVISION = "e145e8b"

# What a data root holds -> the file of SIMCSE_DATA that it is (methods section 7).
ARTEFACTS = {
    "wiki/wiki1m_for_simcse.txt": "wiki1m_for_simcse.txt",
    "nli/nli_for_simcse.csv": "nli_for_simcse.csv",
    "SentEval": "senteval.tar",
}


def materialise(root: Path, wanted: Iterable[str], commit: str) -> list[dict[str, Any]]:
    """Download the wanted ARTEFACTS at a commit into a data root and return `{name, sha256, revision, rows}` of each.

    `revision` is the commit; the sha256 of SentEval is that of its archive, its `rows` are None. Raises BadInput for an
    unknown name and a broken archive, MissingData where the hub does not answer or does not have the file.
    """
    records = []
    for name in wanted:
        check_known(name, ARTEFACTS, f'the hub source has no "{name}"')
        source = cached_artefact(name, commit, root / name)
        if source.suffix == ".tar":
            _unpack(source, root / name / "downstream")
        else:
            copy_file(source, root / name)
        records.append(
            {"name": name, "sha256": sha256_of(source), "revision": commit, "rows": _rows(root / name)}
        )
    return records


def cached_artefact(name: str, commit: str, target: Path) -> Path:
    """Return the file of one of the ARTEFACTS in the hub's cache, fetched where it is not there."""
    remedy = f"connect to the hub, or put it at {target} and set data.source to local"
    file = cached_folder(SIMCSE_DATA, commit, [ARTEFACTS[name]], remedy=remedy) / ARTEFACTS[name]
    if not file.is_file():  # the cache may have the commit, but other files of it
        raise MissingData(
            f"{ARTEFACTS[name]} of {SIMCSE_DATA} at {commit} is not in the hub's cache; {remedy}"
        )
    return file


def cached_encoder(repository: str, revision: str | None) -> tuple[Path, str]:
    """Return the folder of an encoder in the hub's cache, fetched where it is not there, and its full commit.

    It holds the files that libraries read, and weights of one format: safetensors where there are any, else PyTorch's.
    Raises MissingData where the hub does not answer or does not have them.
    """
    folder = cached_folder(repository, revision or "main", ENCODER_FILES, "model")
    if not any(folder.rglob("*.safetensors")):
        folder = cached_folder(repository, folder.name, (*ENCODER_FILES, "*.bin"), "model")
    return folder, folder.name


def cached_folder(
    repository: str,
    revision: str,
    patterns: Sequence[str],
    kind: str = "dataset",
    remedy: str = "connect to the hub",
) -> Path:
    """Return the folder of a repository at a revision in the hub's cache, its files of these patterns fetched.

    Raises MissingData where the hub does not answer or refuses, and where a file is not what the hub says it is.
    """
    if ABBREVIATED.fullmatch(revision):
        raise BadInput(f"{repository} at {revision}: an abbreviated commit; {FULL}")
    try:
        folder = Path(
            snapshot_download(
                repository,
                repo_type=kind,
                revision=revision,
                allow_patterns=list(patterns),
                ignore_patterns=list(OTHER_FORMATS),
            )
        )
    except FAILURES as error:
        wanted = "the encoder" if kind == "model" else f"{' and '.join(patterns)} of"
        what = f"{wanted} {repository} at {revision}"
        raise MissingData(_not_downloaded(what, repository, kind, error, remedy)) from error
    for path in matching_files(folder, patterns):
        _check_content(path)
    return folder


def matching_files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the files below a folder whose relative paths fit one of some patterns, sorted by name."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and any(fnmatchcase(path.relative_to(folder).as_posix(), each) for each in patterns)
    )


def check_reached() -> None:
    """Raise MissingData where the hub cannot be reached at all, which its library would try again for each file."""
    if constants.HF_HUB_OFFLINE:
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=PATIENCE)
    except FAILURES as error:
        raise MissingData(
            f"{constants.ENDPOINT} cannot be reached ({' '.join(str(error).split())}); connect to it, or set"
            " HTTPS_PROXY; with HF_HUB_OFFLINE=1 only its cache is read"
        ) from None


def _not_downloaded(what: str, repository: str, kind: str, error: Exception, remedy: str) -> str:
    """Return the sentence of a download that failed; of a gated repository, where access is asked for."""
    reason = " ".join(str(error.__cause__ or error).split()) or type(error).__name__
    if isinstance(error, errors.GatedRepoError) or isinstance(error.__cause__, errors.GatedRepoError):
        page = f"{constants.ENDPOINT}/{'datasets/' if kind == 'dataset' else ''}{repository}"
        reason, remedy = "the repository is gated", f"ask for access at {page}, then run hf auth login"
    return f"{what} cannot be downloaded ({reason}); {remedy}"


def _check_content(cached: Path) -> None:
    """Raise MissingData where a file of the hub's cache is not what the hub says, and remove it from there.

    The cache names a file by the hub's ETag: the sha256 of a large file, the git blob id of a small one.
    """
    blob = cached.resolve()
    if blob == cached or not CHECKSUM.fullmatch(blob.name):
        return
    if len(blob.name) == 64:
        checksum = sha256_of(blob)
    else:
        content = blob.read_bytes()
        checksum = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if checksum != blob.name:
        blob.unlink()
        cached.unlink()
        sums = f"its checksum is {checksum[:12]}, but the hub says {blob.name[:12]}"
        raise MissingData(f"{cached.name}: {sums}; it was removed, fetch it again")


def _unpack(archive: Path, target: Path) -> None:
    """Unpack the folder of an archive that holds STS as `target`; nothing may land outside of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacked") as name:
        aside = Path(name)
        with (
            refusing(f"{archive}: cannot be unpacked", "name another revision", tarfile.TarError),
            tarfile.open(archive) as tar,
        ):
            tar.extractall(aside, filter="data")
        sts = min(aside.glob("**/STS"), key=lambda path: len(path.parts), default=None)
        if sts is None:
            raise BadInput(f"{archive}: no STS folder in it; expected an archive of SentEval's data")
        if target.exists():
            shutil.rmtree(target)
        sts.parent.rename(target)


def _rows(path: Path) -> int | None:
    """Return the lines of a text file or the records of a CSV file with header; None for a folder."""
    if path.is_dir():
        return None
    if path.suffix == ".csv":
        return sum(1 for _ in csv_records(path)) - 1
    return sum(1 for _ in read_lines(path))
