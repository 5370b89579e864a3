"""The program `replicse`: run the command line, or let a server run a job.

Modules are imported in functions, so that Ctrl-C at the start prints no traceback.
"""

import sys
from collections.abc import Sequence


def main() -> int:
    """Run the command of this process; Ctrl-C ends it with a sentence.

    Returns:
        The exit code.
    """
    words = sys.argv[1:]
    try:
        import signal

        from replicse.runtime.interrupts import interrupt_once

        # A scheduler ends a job by SIGTERM, and so does the end of a study.
        interrupt_once(*[signal.SIGTERM] * (words[:1] == ["job"]))
        return run(words)
    except KeyboardInterrupt:  # during imports, or while a server runs the job
        from replicse.runtime.forking import INTERRUPTED

        print(f"replicse {' '.join(words[:2])}: {INTERRUPTED}", file=sys.stderr)
        return 130


def run(words: Sequence[str]) -> int:
    """Run a command, in this process or in the study's job server.

    Args:
        words: The command line.

    Returns:
        The exit code.
    """
    # A process that joins another process of a run is not a job of the study.
    if words[:1] == ["job"] and not words[-1].startswith("--join="):
        from replicse.runtime.forking import ADDRESS, delegate

        code = delegate(ADDRESS, words)
        if code is not None:
            return code
    from replicse.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
