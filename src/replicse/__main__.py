"""Run the command line (`python -m replicse`), or let a server run a job."""

import signal
import sys
from collections.abc import Sequence

from replicse.runtime.forking import ADDRESS, INTERRUPTED, delegate
from replicse.runtime.interrupts import interrupt_once


def run(words: Sequence[str]) -> int:
    """Run a command, in this process or in the study's job server.

    Args:
        words: The command line.

    Returns:
        The exit code.
    """
    # A process that joins another process of a run is not a job of the study.
    is_job = words[:1] == ["job"] and not words[-1].startswith("--join=")
    code = delegate(ADDRESS, words) if is_job else None
    if code is not None:
        return code
    from replicse.cli import main

    return main()


if __name__ == "__main__":
    words = sys.argv[1:]
    # A scheduler ends a job by SIGTERM, and so does the end of a study.
    interrupt_once(*[signal.SIGTERM] * (words[:1] == ["job"]))
    try:
        code = run(words)
    except KeyboardInterrupt:  # during imports, or while a server runs the job
        print(f"replicse {' '.join(words[:2])}: {INTERRUPTED}", file=sys.stderr)
        code = 130
    sys.exit(code)
