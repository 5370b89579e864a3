"""What Snakemake needs of a machine: a folder for its cache, and enough open files."""

import resource
from collections.abc import Mapping
from pathlib import Path

from replicse.errors import BadInput

# Snakemake and the process that forks jobs have a few files open for each job.
OPEN_FILES = 256


def check_cache_folder(environment: Mapping[str, str]) -> None:
    """Raise BadInput if the folder for Snakemake's cache of source files cannot be made."""
    home = environment.get("XDG_CACHE_HOME")
    folder = Path(home) if home else Path("~/.cache").expanduser()
    try:
        (folder / "snakemake").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{folder}: {error.strerror}, but Snakemake keeps a cache there; set XDG_CACHE_HOME to a folder that can be"
            " written"
        ) from None


def raise_file_limit(needed: int = OPEN_FILES) -> None:
    """Let this process and its jobs open enough files; BadInput if the machine does not allow it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInput(f"a process may open {hard} files, but a study needs {needed}; raise ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
