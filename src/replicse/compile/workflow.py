"""Prepare the workflow: compile the study and write the specifications of the jobs."""

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

    The environment of this process is set, which its jobs inherit.

    Args:
        config: the config, as Snakemake has read it.
        home: the parent of the workflow: papers, scales and rules; the environment may name another workflow.
        library: the folder of the package that jobs run.
        is_main_process: whether to write; the jobs of a cluster parse the workflow again, while others run.

    Raises:
        BadInput: if the config, a paper or a scale is wrong.
    """
    study = load_or_compile(config, set_environment(home / "workflow", library))
    specifications = Specifications(study, library / "replicse")
    if is_main_process:
        specifications.write()
    return study, specifications
