"""Run the command line with `python -m replicse`."""

import sys

from replicse.cli import main

sys.exit(main())
