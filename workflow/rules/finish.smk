# What is done when Snakemake ends. Helpers only, no rule.
import shutil
import subprocess
import time

from replicse.files import write_text
from replicse.study.plan.paths import Paths

STARTED = time.time()
PARTIAL = Paths(SCALE, partial=True)


def report_what_there_is(targets):
    """Report what there is of what was asked for; it is no output of a rule, so nothing takes it for done."""
    items = [item.id for item in PLAN.items.values() if item.target in targets]
    if targets and not items and not {"all", PATHS.report("html")} & set(targets):
        return
    write_text(PARTIAL.config, study_config(None))
    # Clocks of other machines that write logs may be a little behind.
    words = ["--study", PARTIAL.config, "--since", str(STARTED - 60)]
    for item in items:
        words += ["--item", item]
    base = Path(workflow.basedir)
    own = {"PYTHONPATH": str(base / "src"), "REPLICSE_WORKFLOW": str(base / "workflow")}
    subprocess.run(
        [sys.executable, "-m", "replicse", "finish", *words],
        env={**os.environ, **own},
        check=False,
    )


def drop_partial():
    """Remove the report of what there was, once a later one is whole."""
    partial, whole = Path(PARTIAL.report("html")), Path(PATHS.report("html"))
    if (
        partial.exists()
        and whole.exists()
        and whole.stat().st_mtime >= partial.stat().st_mtime
    ):
        for folder in (PARTIAL.results, PARTIAL.figures, str(partial.parent)):
            shutil.rmtree(folder, ignore_errors=True)
