"""Start-up time of a training job, against an empty Python.

It is the time of the interpreter, the imports and the command line, before the job's own work.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from record import ROOT, in_turn, medians, row, write_record

# The verb `train` imports these modules before it opens the first file.
JOB = (
    "import replicse.cli, replicse.cli.stages.train, torch; import replicse.cli.stages.store,"
    " replicse.provenance.record, replicse.training.loop, replicse.training.model"
)
CASES = {"empty_python": "pass", "torch_alone": "import torch", "train_job": JOB}
ROUNDS, GOAL = 5, 2.5


def interpreter(code: str) -> None:
    """Run Python code in a separate interpreter."""
    words = [sys.executable, "-c", code]
    subprocess.run(words, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the record's table."""
    seconds = found["median_seconds"]
    yield row(
        "start-up of a training job before its own work: seconds",
        f"{seconds['train_job']:.2f}",
        limit=f"{seconds['torch_alone']:.2f} (importing torch)",
        goal=f"{found['goal']:g}",
        met=seconds["train_job"] <= found["goal"],
    )


def main() -> None:
    """Measure the cases in turn, after a warm-up, and write medians."""
    times = medians(in_turn({name: partial(interpreter, code) for name, code in CASES.items()}, ROUNDS))
    seconds = {name: round(each, 3) for name, each in times.items()}
    own = round(seconds["train_job"] - seconds["torch_alone"], 3)
    found = {"median_seconds": seconds, "beyond_torch": own, "goal": GOAL}
    write_record("start_up", found, list(lines_of(found)))
    print(found)


if __name__ == "__main__":
    main()
