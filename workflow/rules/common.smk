# Helpers only: the study is compiled once, and each rule looks up its job in it.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# In a checkout the workflow is next to the package, in a wheel inside of it.
HOME = Path(workflow.current_basedir).parent.parent
LIBRARY = HOME / "src" if (HOME / "src").is_dir() else HOME.parent
sys.path.insert(0, str(LIBRARY))

from replicse.compile.cache import load_or_compile
from replicse.compile.jobs import list_jobs
from replicse.cli.job_server import start
from replicse.compile import targets
from replicse.compile.job import JUDGED
from replicse.compile.resources import JobResources
from replicse.compile.specifications import Specifications
from replicse.errors import BadInput
from replicse.registry.suites import groups
from replicse.runtime.environment import set_environment
from replicse.runtime.locks import note_holder
from replicse.world.files import FILES

WORKFLOW = set_environment(HOME / "workflow", LIBRARY)
try:
    STUDY = load_or_compile(config, WORKFLOW)
    JOBS = list_jobs(STUDY)
    # Jobs of a cluster parse the workflow again, while others run.
    if workflow.is_main_process:
        Specifications(STUDY, LIBRARY / "replicse").write()
except BadInput as error:
    raise WorkflowError(str(error)) from None

SCALE = STUDY.scale.name
RESOURCES = JobResources(STUDY)
GENERATED = FILES if STUDY.source == "embedded" else ()
# Snakemake takes single braces in the name of a folder for wildcards.
ENVIRONMENT = str(HOME / "environment.yml").replace("{", "{{").replace("}", "}}")


wildcard_constraints:
    scale=SCALE,
    item="(?!tables/)[a-z0-9]+/[A-Za-z0-9-]+",
    run="[A-Za-z0-9.-]+",
    encoder="(?!data/)[A-Za-z0-9.-]+",
    group="|".join(groups()),
    name="[A-Za-z0-9._-]+",


def name_allocation(wildcards):
    """Return what a scheduler runs in one allocation: a run, its trajectory, and its evaluations but those of hours."""
    if RESOURCES.is_long(wildcards.get("group", "")):
        return None
    run = wildcards.get("run") or STUDY.run_name(wildcards.encoder)
    return f"run-{run}" if run and not workflow.local_exec else None
