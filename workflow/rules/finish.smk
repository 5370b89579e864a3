# What is done when Snakemake ends. Helpers only, no rule.
import subprocess
import time

from replicse.files import write_text
from replicse.compile.paths import Paths, drop_partial

STARTED = time.time()
PARTIAL = Paths(SCALE, partial=True)


def asks_for_all(targets):
    """Return whether the report of the whole study was asked for."""
    return not targets or bool({"all", PATHS.report("html")} & set(targets))


def report_what_there_is(targets):
    """Report what there is of what was asked for; it is no output of a rule, so nothing takes it for done."""
    items = [
        item.id
        for item in STUDY.items.values()
        if {item.id, item.target} & set(targets)
    ]
    if not items and not asks_for_all(targets):
        return
    write_text(PARTIAL.config, text_of(STUDY.jobs["config", ""]))
    # Clocks of other machines that write logs may be a little behind.
    told = {"study": PARTIAL.config, "items": items, "since": STARTED - 60}
    # As jobs find the package and the user's own modules.
    python = [str(LIBRARY), os.environ.get("PYTHONPATH", "")]
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, python)),
        "REPLICSE_WORKFLOW": str(WORKFLOW),
    }
    subprocess.run(
        [sys.executable, "-m", "replicse", "job", "finish", compact_json(told)],
        env={**os.environ, **own},
        check=False,
    )


def drop_stale(targets):
    """Remove the report of what there was, once the whole study is there; it may be older, where nothing changed."""
    if asks_for_all(targets):
        drop_partial(SCALE)
