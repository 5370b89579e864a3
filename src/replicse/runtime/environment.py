"""The environment of Snakemake and its jobs: they find Python, the package and the workflow."""

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def job_environment(
    workflow: Path | str, environment: Mapping[str, str], library: Path = PACKAGE_PARENT
) -> dict[str, str]:
    """Return an environment in which jobs find this Python and package, and the workflow.

    Args:
        workflow: the folder of papers, scales and rules.
        environment: the environment that is extended.
        library: the folder of the package that jobs run, which may be another one than is installed.
    """
    own = {"REPLICSE_WORKFLOW": str(Path(workflow).absolute())}
    for name, folder in (("PATH", Path(sys.executable).parent), ("PYTHONPATH", library)):
        folders = environment.get(name, "").split(os.pathsep)
        others = [each for each in folders if each and each != str(folder)]
        own[name] = os.pathsep.join([str(folder), *others])
    return {**environment, **own}


def set_environment(workflow: Path, library: Path) -> Path:
    """Set the environment of this process, which its jobs inherit, as `job_environment` does.

    Returns:
        The folder of papers, scales and rules: `replicse run` has set the one that --workflow names.
    """
    # A study and its DAG are millions of objects that all stay, so that frequent garbage collection finds nothing.
    gc.set_threshold(100_000, 50, 100)
    named = Path(os.environ.get("REPLICSE_WORKFLOW") or workflow)
    os.environ.update(job_environment(named, os.environ, library))
    return Path(os.environ["REPLICSE_WORKFLOW"])
