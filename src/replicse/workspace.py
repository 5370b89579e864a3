"""Paths of the workspace (the working directory) and of the package."""

import os
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged(*parts: str) -> Path:
    """Return the path of a file of the package that is not code.

    In a wheel it is inside of the package, in a checkout at the top.
    """
    inside = PACKAGE.joinpath(*parts)
    return inside if inside.exists() else PACKAGE.parents[1].joinpath(*parts)


def workflow_folder() -> Path:
    """Return the folder of papers, scales and rules.

    It is the folder in REPLICSE_WORKFLOW, the folder `workflow` of the working directory, or the package's.
    """
    if named := os.environ.get("REPLICSE_WORKFLOW"):
        return Path(named)
    own = Path("workflow")
    return own if (own / "rules").is_dir() else packaged("workflow")


def looked_up(workflow: Path, pattern: str) -> Iterator[Path]:
    """Yield the files of a glob such as `scales/*.yaml`.

    The workflow's files come first, then the workspace's.
    """
    yield from sorted(workflow.glob(pattern))
    yield from sorted(Path().glob(pattern))


def is_own_folder(folder: str) -> bool:
    """Return whether a folder of an encoder is the user's.

    It is if the path is absolute or begins with a dot (`./`).
    """
    return folder.startswith((".", "/"))


def is_own(place: Path) -> bool:
    """Return whether a file of a paper is in the workspace.

    `place` is a path as `looked_up` returns it.
    """
    return place.parts[:1] == ("papers",)


def encoder_place(folder: str, root: Path) -> Path:
    """Return the path of an encoder.

    The user's folder is returned unchanged; a scale's folder is below the data root.
    """
    return Path(folder) if is_own_folder(folder) else root / folder
