"""Run the command line (`python -m replicse`), or let a server run a job."""

import sys

from replicse.runtime.forking import ADDRESS, delegate
from replicse.runtime.interrupts import interrupt_once

if __name__ == "__main__":
    interrupt_once()
    words = sys.argv[1:]
    # A process that joins another process of the run is not a job of the study.
    is_job = words[:1] == ["job"] and not words[-1].startswith("--join=")
    code = delegate(ADDRESS, words) if is_job else None
    if code is None:
        from replicse.cli import main

        code = main()
    sys.exit(code)
