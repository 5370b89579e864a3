"""Look up the commits of hub artefacts and write them to the lock file."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import yaml
from huggingface_hub import HfApi

from replicse.checked import read_yaml
from replicse.compile.selection import load_scales
from replicse.data.hub import ABBREVIATED, FAILURES, SIMCSE_REVISION, check_reached
from replicse.errors import BadInput, MissingData
from replicse.files import write_text
from replicse.registry.corpora import SIMCSE_DATA
from replicse.spec.layers import mappings
from replicse.spec.lock import LOCK, Lock, Pin, load_lock
from replicse.workspace import packaged

HEAD = "# Every hub artefact at its commit; `replicse fetch --pin` looks up missing ones and completes short ones.\n"


def pin(workflow: Path, names: Collection[str] | None, write: bool) -> Iterator[str]:
    """Look up missing commits and add them to the lock file.

    Args:
        workflow: the folder of papers and scales.
        names: the repositories to look up; None for all repositories of all scales.
        write: whether to write the lock file.

    Yields:
        A line for each new, changed or removed commit.
    """
    old = load_lock(workflow)
    check_reached()
    new = resolved(artefacts(workflow), old, names)
    yield from differences(old, new)
    if write:
        text = yaml.safe_dump(new.model_dump(), sort_keys=False, width=120)
        # The package's lock file is not changed.
        brought = workflow == packaged("workflow")
        write_text(Path(LOCK) if brought else workflow / LOCK, HEAD + text)


def artefacts(workflow: Path) -> dict[tuple[str, str], str]:
    """Return the branch, tag or abbreviated commit of each repository.

    Args:
        workflow: the folder of papers and scales.

    Returns:
        A dict from (kind, repository) to revision. The kind is "model" or "dataset". Default revision: "main".

    Raises:
        BadInput: if a repository is used at two revisions, because the lock file has one commit per repository.
    """
    named = [(("dataset", SIMCSE_DATA), SIMCSE_REVISION)]
    for path in load_scales(workflow).values():
        scale = read_yaml(path)
        for section in ("backbones", "released"):
            for entry in scale.get(section, {}).values():
                if "hub" in entry:
                    named.append((("model", entry["hub"]), entry.get("revision") or "main"))
        for corpus in mappings(scale):
            if corpus.get("format") == "hub-dataset":
                for part in corpus["parts"]:
                    named.append((("dataset", part["path"]), part.get("revision") or "main"))
    wanted: dict[tuple[str, str], str] = {}
    for key, revision in named:
        if wanted.setdefault(key, revision) != revision:
            raise BadInput(
                f"{key[1]} is used at revisions {wanted[key]} and {revision}; use the same revision"
            )
    return wanted


def resolved(wanted: dict[tuple[str, str], str], old: Lock, names: Collection[str] | None) -> Lock:
    """Return a lock file with the current commits of unpinned repositories.

    Args:
        wanted: a dict from (kind, repository) to revision.
        old: the existing lock file; complete commits are not changed, abbreviated commits are completed.
        names: the repositories to look up; None for all.
    """
    today = f"resolved at the hub, {datetime.now(UTC):%Y-%m-%d}"
    pins: dict[str, dict[str, Pin]] = {"model": {}, "dataset": {}}
    for (kind, name), revision in wanted.items():
        before = (old.models if kind == "model" else old.datasets).get(name)
        if not (before and before.complete) and (names is None or name in names):
            before = Pin(commit=commit_of(kind, name, (before and before.commit) or revision), seen=today)
        if before:
            pins[kind][name] = before
    return Lock(models=pins["model"], datasets=pins["dataset"])


def commit_of(kind: str, name: str, revision: str) -> str:
    """Return the commit of a branch, tag or abbreviated commit.

    Args:
        kind: "model" or "dataset".
        name: the name of the repository, such as "bert-base-uncased".
        revision: the branch, tag or abbreviated commit.

    Raises:
        MissingData: if the hub cannot be reached or has no such revision.
    """
    try:
        if ABBREVIATED.fullmatch(revision):
            commits = [info.commit_id for info in HfApi().list_repo_commits(name, repo_type=kind)]
            commit = next((commit for commit in commits if commit.startswith(revision)), None)
        else:
            commit = HfApi().repo_info(name, repo_type=kind, revision=revision).sha
    except FAILURES as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        problem = f"the commit of {name} at {revision} cannot be resolved ({reason})"
        raise MissingData(f"{problem}; connect to the hub and run replicse fetch --pin again") from error
    if commit is None:
        raise MissingData(
            f"commit {revision} of {name} does not exist; use an existing commit, or null for the newest"
        )
    return commit


def differences(old: Lock, new: Lock) -> list[str]:
    """Return a line for each new, changed or removed commit.

    Args:
        old: the lock file before the changes.
        new: the lock file after the changes.
    """
    lines = []
    for before, after in ((old.models, new.models), (old.datasets, new.datasets)):
        for name in after | before:
            old_pin, new_pin = _pin_text(before, name), _pin_text(after, name)
            if old_pin != new_pin:
                lines.append(f"{name}: {old_pin} -> {new_pin}")
    return lines or ["every hub artefact has a commit"]


def _pin_text(pins: Mapping[str, Pin], name: str) -> str:
    if name not in pins:
        return "absent"
    return pins[name].commit or "unpinned"
