"""Prepare the workflow: compile the study, write the specifications."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.compile.cache import load_or_compile
from replicse.compile.specifications import Specifications
from replicse.compile.study import Study
from replicse.runtime.environment import set_environment


def prepare_study(
    config: Mapping[str, Any], home: Path, library: Path, is_main_process: bool
) -> tuple[Study, Specifications]:
    """Compile the study and write the specifications of the jobs.

    Sets the environment of this process, which the jobs inherit.

    Args:
        config: the config from Snakemake.
        home: the parent of the workflow: papers, scales and rules; the environment can specify another workflow.
        library: the folder of the package that jobs use.
        is_main_process: whether to write; the jobs of a cluster parse the workflow again, while others run.

    Returns:
        The study and the specifications.

    Raises:
        BadInput: if the config, a paper or a scale is not valid.
    """
    study = load_or_compile(config, set_environment(home / "workflow", library))
    specifications = Specifications(study, library / "replicse")
    if is_main_process:
        specifications.write()
    return study, specifications
