"""The data source `hub`: datasets and encoders at pinned revisions."""

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

TIMEOUT = 10.0  # seconds to wait for the hub's first response
FAILURES = (OSError, errors.HTTPError, errors.EntryNotFoundError, errors.HFValidationError)
ABBREVIATED = re.compile("[0-9a-f]{7,39}")
FULL = "use all 40 digits, which replicse fetch --pin looks up"
CHECKSUM = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
CARD = "README.md"
# The files of an encoder that the libraries load, and weights in other formats.
ENCODER_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")
OTHER_FORMATS = ("onnx/*", "openvino/*", "*.onnx")


# The revision that `replicse fetch --pin` resolves. Older SentEval archives are incomplete: SUBJ had 20 subjective
# sentences (methods 6, pitfall 6).
SIMCSE_REVISION = "e145e8b"

# The path in a data root, and the file in SIMCSE_DATA (methods section 7).
ARTEFACTS = {
    "wiki/wiki1m_for_simcse.txt": "wiki1m_for_simcse.txt",
    "nli/nli_for_simcse.csv": "nli_for_simcse.csv",
    "SentEval": "senteval.tar",
}


def materialise(root: Path, wanted: Iterable[str], commit: str) -> list[dict[str, Any]]:
    """Download ARTEFACTS at a commit into a data root.

    Args:
        root: The data root, a folder of datasets.
        wanted: The names of the artefacts.
        commit: The commit of SIMCSE_DATA.

    Returns:
        A list with a dict of `name`, `sha256`, `revision` (the commit) and `rows` for each artefact. For
        SentEval, `sha256` is the hash of the archive and `rows` is None.

    Raises:
        BadInput: If a name is unknown or the archive is broken.
        MissingData: If the hub does not respond or does not have the file.
    """
    records = []
    for name in wanted:
        check_known(name, ARTEFACTS, f'the hub source does not contain "{name}"')
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
    """Return an artefact in the hub's cache, downloaded if necessary.

    Args:
        name: The name of the artefact.
        commit: The commit of SIMCSE_DATA.
        target: The path in the data root, for the message.

    Raises:
        MissingData: If the hub does not respond or does not have the file.
    """
    remedy = f"connect to the hub, or put the file at {target} and set data.source to local"
    file = cached_folder(SIMCSE_DATA, commit, [ARTEFACTS[name]], remedy=remedy) / ARTEFACTS[name]
    if not file.is_file():  # the cache can have only other files of this commit
        raise MissingData(
            f"{ARTEFACTS[name]} of {SIMCSE_DATA} at {commit} is not in the hub's cache; {remedy}"
        )
    return file


def cached_encoder(repository: str, revision: str | None) -> tuple[Path, str]:
    """Return an encoder's folder in the hub's cache, and the full commit.

    Downloads the files that `transformers` and sentence-transformers load, with weights in one format:
    safetensors if it exists, otherwise PyTorch's.

    Args:
        repository: The hub id, such as "princeton-nlp/sup-simcse-bert-base-uncased".
        revision: A branch, a tag or a full commit; None for the main branch.

    Raises:
        MissingData: If the hub does not respond or does not have the files.
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
    """Return the folder where the hub's cache stores a repository.

    Files that match `patterns` are downloaded if necessary.

    Args:
        repository: The hub id.
        revision: A branch, a tag or a full commit.
        patterns: A list of patterns such as "*.json".
        kind: "dataset" or "model". Default: "dataset".
        remedy: The end of error messages.

    Raises:
        BadInput: If the commit is abbreviated.
        MissingData: If the hub does not respond or refuses, or a file does not have the hub's checksum.
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
        raise MissingData(_describe_failure(what, repository, kind, error, remedy)) from error
    for path in matching_files(folder, patterns):
        _check_content(path)
    return folder


def matching_files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """List the files below a folder that match a pattern, sorted by name.

    Args:
        folder: The folder.
        patterns: A list of patterns of paths relative to the folder.
    """
    found: set[Path] = set()
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and any(fnmatchcase(name, pattern) for pattern in patterns):
            found.add(path)
    return sorted(found)


def check_reached() -> None:
    """Check that the hub can be reached.

    Otherwise `huggingface_hub` would try again for each file.

    Raises:
        MissingData: If the hub does not respond.
    """
    if constants.HF_HUB_OFFLINE:
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=TIMEOUT)
    except FAILURES as error:
        raise MissingData(
            f"{constants.ENDPOINT} cannot be reached ({' '.join(str(error).split())}); connect to it, or set"
            " HTTPS_PROXY; if HF_HUB_OFFLINE=1 is set, only cached files are used"
        ) from None


def _describe_failure(what: str, repository: str, kind: str, error: Exception, remedy: str) -> str:
    """Return the error of a failed download.

    For a gated repository it contains the page where a user asks for access.
    """
    reason = " ".join(str(error.__cause__ or error).split()) or type(error).__name__
    if isinstance(error, errors.GatedRepoError) or isinstance(error.__cause__, errors.GatedRepoError):
        folder = "datasets/" if kind == "dataset" else ""
        page = f"{constants.ENDPOINT}/{folder}{repository}"
        reason, remedy = "the repository is gated", f"request access at {page}, then run hf auth login"
    return f"{what} cannot be downloaded ({reason}); {remedy}"


def _check_content(cached: Path) -> None:
    """Remove a broken file from the hub's cache and raise MissingData.

    The cache names a file by the hub's ETag: the SHA-256 of a large file, the git blob id of a small file.
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
        sums = f"the checksum is {checksum[:12]}, but the hub's is {blob.name[:12]}"
        raise MissingData(f"{cached.name}: {sums}; it was removed, download it again")


def _unpack(archive: Path, target: Path) -> None:
    """Extract the folder of an archive that contains STS to `target`.

    The tar filter "data" prevents files outside of the folder.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacked") as name:
        aside = Path(name)
        with (
            refusing(f"{archive}: cannot be unpacked", "use another revision", tarfile.TarError),
            tarfile.open(archive) as tar,
        ):
            tar.extractall(aside, filter="data")
        sts = min(aside.glob("**/STS"), key=lambda path: len(path.parts), default=None)
        if sts is None:
            raise BadInput(f"{archive} does not contain a folder STS; use an archive of SentEval's data")
        if target.exists():
            shutil.rmtree(target)
        sts.parent.rename(target)


def _rows(path: Path) -> int | None:
    """Count the lines of a text file or the records of a CSV file with header.

    Returns None for a folder.
    """
    if path.is_dir():
        return None
    if path.suffix == ".csv":
        return sum(1 for _ in csv_records(path)) - 1
    return sum(1 for _ in read_lines(path))
