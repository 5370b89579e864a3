"""Start-up of one training job before its own work: interpreter, imports and command line, against an empty Python."""

import json
import subprocess
import sys
import time
from pathlib import Path

# What the train verb does before it opens its first file.
JOB = (
    "import replicse.cli, replicse.commands.train, torch; import replicse.commands.prepare,"
    " replicse.provenance, replicse.training.loop, replicse.training.model"
)
CASES = {"empty_python": "pass", "torch_alone": "import torch", "train_job": JOB}
ROUNDS = 5


def seconds(code: str) -> float:
    """Return the wall time of one interpreter that runs `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Measure the cases in turn, after a warm-up, and write medians."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for turn in range(ROUNDS + 1):
        for name, code in CASES.items():
            found = seconds(code)
            if turn:
                times[name].append(found)
    medians = {name: round(sorted(values)[ROUNDS // 2], 3) for name, values in times.items()}
    own = round(medians["train_job"] - medians["torch_alone"], 3)
    result = {"median_seconds": medians, "beyond_torch": own, "goal": 2.5}
    out = Path(__file__).parent / "results" / "start_up.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
