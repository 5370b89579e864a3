"""Run the command line with `python -m replicse`, or have it run by the study's server where there is one."""

import signal
import sys
from collections.abc import Sequence

from replicse.runtime.forking import ADDRESS, INTERRUPTED, delegate
from replicse.runtime.interrupts import interrupt_once


def run(words: Sequence[str]) -> int:
    """Run a verb, here or in the study's server, and return the exit code."""
    # What joins another process of its run is no job of the study's own.
    served = words[:1] == ["job"] and not words[-1].startswith("--join=")
    code = delegate(ADDRESS, words) if served else None
    if code is not None:
        return code
    from replicse.cli import main

    return main()


if __name__ == "__main__":
    words = sys.argv[1:]
    # A scheduler, or the end of a study, asks a job by SIGTERM.
    interrupt_once(*[signal.SIGTERM] * (words[:1] == ["job"]))
    try:
        code = run(words)
    except KeyboardInterrupt:  # while modules were imported, or while a server did the work
        print(f"replicse {' '.join(words[:2])}: {INTERRUPTED}", file=sys.stderr)
        code = 130
    sys.exit(code)
