"""Paths of the workspace (the working directory) and of the package."""

import os
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged(*parts: str) -> Path:
    """Return the path of a data file of the package.

    In a wheel it is inside of the package, in a checkout at the top.

    Args:
        *parts: The parts of the path, such as "docs", "api.md".
    """
    inside = PACKAGE.joinpath(*parts)
    return inside if inside.exists() else PACKAGE.parents[1].joinpath(*parts)


def workflow_folder() -> Path:
    """Return the folder where papers, scales and rules are stored.

    Returns:
        The folder in REPLICSE_WORKFLOW if the variable is set, else the folder `workflow` of the working
        directory if it exists, else the package's.
    """
    if named := os.environ.get("REPLICSE_WORKFLOW"):
        return Path(named)
    own = Path("workflow")
    return own if (own / "rules").is_dir() else packaged("workflow")


def looked_up(workflow: Path, pattern: str) -> Iterator[Path]:
    """Yield the files of a glob in the workflow, then in the workspace.

    Args:
        workflow: The folder of papers, scales and rules.
        pattern: A glob such as `scales/*.yaml`.
    """
    yield from sorted(workflow.glob(pattern))
    yield from sorted(Path().glob(pattern))


def modules_in(folder: Path) -> dict[str, Path]:
    """Return the Python modules and packages of a folder by name.

    Args:
        folder: The folder.
    """
    modules = {file.stem: file for file in sorted(folder.glob("*.py"))}
    packages = {file.parent.name: file.parent for file in sorted(folder.glob("*/__init__.py"))}
    return modules | packages


def is_own_folder(folder: str) -> bool:
    """Return whether the folder of an encoder belongs to the user.

    Args:
        folder: The path. It belongs to the user if it is absolute or starts with a dot (`./`).
    """
    return folder.startswith((".", "/"))


def is_own(place: Path) -> bool:
    """Return whether a file of a paper is in the workspace.

    Args:
        place: A path that `looked_up` returned.
    """
    return place.parts[:1] == ("papers",)


def encoder_place(folder: str, root: Path) -> Path:
    """Return the path of an encoder.

    Args:
        folder: The path in a scale or a row. A user's folder is returned unchanged; other folders are below
            the data root.
        root: The data root, a folder of datasets.
    """
    return Path(folder) if is_own_folder(folder) else root / folder
