"""Snakemake's requirements: a cache folder, and enough open files."""

import resource
from collections.abc import Mapping
from pathlib import Path

from replicse.errors import BadInput

# Snakemake and the job server open a few files for each job.
OPEN_FILES = 256


def cache_home(environment: Mapping[str, str]) -> Path | None:
    """Return the folder where the user's caches are stored.

    Args:
        environment: The environment, in which XDG_CACHE_HOME can set the folder. Default of the folder:
            `~/.cache`.

    Returns:
        The folder; None if the user has no home folder.
    """
    if home := environment.get("XDG_CACHE_HOME"):
        return Path(home)
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        return None


def check_cache_folder(environment: Mapping[str, str]) -> None:
    """Create the folder for Snakemake's cache.

    Args:
        environment: The environment of `cache_home`.

    Raises:
        BadInput: If the folder cannot be created.
    """
    folder = cache_home(environment)
    if folder is None:
        raise BadInput(
            "the user has no home folder, but Snakemake needs a cache; set HOME or XDG_CACHE_HOME to a writable folder"
        )
    try:
        (folder / "snakemake").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{folder}: {error.strerror}, but Snakemake uses it as a cache; set XDG_CACHE_HOME to a writable folder"
        ) from None


def raise_file_limit(needed: int = OPEN_FILES) -> None:
    """Let this process and the jobs open enough files.

    Args:
        needed: The number of files. Default: 256.

    Raises:
        BadInput: If the limit cannot be increased.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInput(f"a process can open {hard} files, but a study needs {needed}; increase ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
