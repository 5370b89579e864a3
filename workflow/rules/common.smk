# Shared variables and functions: the study is compiled once, and each rule looks up its jobs in it.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# In a checkout the workflow is next to the package, in a wheel inside the package.
HOME = Path(workflow.current_basedir).parent.parent
LIBRARY = HOME / "src" if (HOME / "src").is_dir() else HOME.parent
sys.path.insert(0, str(LIBRARY))

from replicse.cli.job_server import start
from replicse.compile import discarded, targets
from replicse.compile.job import JUDGED
from replicse.compile.resources import JobResources
from replicse.compile.workflow import prepare_study
from replicse.errors import BadInput
from replicse.registry.suites import groups
from replicse.runtime import interrupts, locks

try:
    STUDY, SPECIFICATIONS = prepare_study(
        config, HOME, LIBRARY, workflow.is_main_process
    )
except BadInput as error:
    raise WorkflowError(str(error)) from None

SCALE, JOBS = STUDY.scale.name, SPECIFICATIONS.jobs
INPUTS = targets.Inputs(SPECIFICATIONS, ancient)
RESOURCES = JobResources(STUDY, lambda: workflow.local_exec)
# Snakemake interprets single braces in the name of a folder as wildcards.
ENVIRONMENT = str(HOME / "environment.yml").replace("{", "{{").replace("}", "}}")


wildcard_constraints:
    scale=SCALE,
    item="(?!tables/)[a-z0-9]+/[A-Za-z0-9-]+",
    run="[A-Za-z0-9.-]+",
    encoder="(?!data/)[A-Za-z0-9.-]+",
    group="|".join(groups()),
    name="[A-Za-z0-9._-]+",
