"""Where things are: the workspace, which is the working directory, and what the package contains."""

import os
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged(*parts: str) -> Path:
    """Return what the package contains in addition to its code: in a wheel inside of it, in a checkout at its top."""
    inside = PACKAGE.joinpath(*parts)
    return inside if inside.exists() else PACKAGE.parents[1].joinpath(*parts)


def workflow_folder() -> Path:
    """Return the folder of papers, scales and rules: the one a job is given, that of this folder, or the package's."""
    own = Path("workflow")
    return Path(
        os.environ.get("REPLICSE_WORKFLOW") or (own if (own / "rules").is_dir() else packaged("workflow"))
    )


def looked_up(workflow: Path, pattern: str) -> Iterator[Path]:
    """Yield the files of a pattern such as `scales/*.yaml`: those of the workflow, then the workspace's own."""
    yield from sorted(workflow.glob(pattern))
    yield from sorted(Path().glob(pattern))


def is_own_folder(folder: str) -> bool:
    """Return whether a folder of an encoder is the user's: absolute, or relative to the workspace (`./`)."""
    return folder.startswith((".", "/"))


def is_own(place: Path) -> bool:
    """Return whether a paper's file or folder, as `looked_up` found it, is one of the workspace."""
    return place.parts[:1] == ("papers",)


def encoder_place(folder: str, root: Path) -> Path:
    """Return the place of an encoder: the user's folder as it is given, a scale's folder below the data root."""
    return Path(folder) if is_own_folder(folder) else root / folder
