"""Run the command line with `python -m replicse`, or have it run by the study's server where there is one."""

import os
import sys

from replicse.runtime.forking import ADDRESS, delegate

if __name__ == "__main__":
    code = delegate(os.environ[ADDRESS], sys.argv[1:]) if ADDRESS in os.environ else None
    if code is None:
        from replicse.cli import main

        code = main()
    sys.exit(code)
