"""The environment in which Snakemake and the jobs run.

They find this Python, the package and the workflow.
"""

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def job_environment(
    workflow: Path | str, environment: Mapping[str, str], library: Path = PACKAGE_PARENT
) -> dict[str, str]:
    """Create an environment in which jobs find Python, package and workflow.

    Args:
        workflow: The folder of papers, scales and rules.
        environment: The environment to extend.
        library: The folder of the package that jobs run, which can differ from the installed package.
            Default: the folder of this package.

    Returns:
        A dict of variables.
    """
    own = {"REPLICSE_WORKFLOW": str(Path(workflow).absolute())}
    python = Path(sys.executable).parent
    for name, folder, default in (("PATH", python, os.defpath), ("PYTHONPATH", library, "")):
        folders = environment.get(name, default).split(os.pathsep)
        others = [other for other in folders if other and other != str(folder)]
        own[name] = os.pathsep.join([str(folder), *others])
    return {**environment, **own}


def set_environment(workflow: Path, library: Path) -> Path:
    """Set the environment of this process like `job_environment` does.

    Jobs inherit it.

    Args:
        workflow: The folder of papers, scales and rules.
        library: The folder of the package that jobs run.

    Returns:
        The folder of papers, scales and rules. `replicse run` sets it from --workflow.
    """
    # A study and the DAG are millions of objects that are never deleted, so frequent garbage collection is useless.
    gc.set_threshold(100_000, 50, 100)
    named = Path(os.environ.get("REPLICSE_WORKFLOW") or workflow)
    os.environ.update(job_environment(named, os.environ, library))
    return Path(os.environ["REPLICSE_WORKFLOW"])
