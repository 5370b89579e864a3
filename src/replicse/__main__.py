"""Run the command line with `python -m replicse`, or have it run by the study's server where there is one."""

import sys

from replicse.runtime.forking import ADDRESS, delegate
from replicse.runtime.interrupts import interrupt_once

if __name__ == "__main__":
    interrupt_once()
    words = sys.argv[1:]
    # What joins another process of its run is no job of the study's own.
    served = words[:1] == ["job"] and not words[-1].startswith("--join=")
    code = delegate(ADDRESS, words) if served else None
    if code is None:
        from replicse.cli import main

        code = main()
    sys.exit(code)
