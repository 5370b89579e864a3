"""Processor time of a dry-run of the whole paper scale through each profile (goal: under 10 s for 5,000 jobs).

`replicse run -n` plans, and has Snakemake build the whole DAG and count its jobs; every job is resolved, none
is listed. Time is that of the processor, so that what else runs on the machine counts less.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from record import ROOT, row, write_record

GOAL = 10
PROFILES = ("gpu-box", "slurm", "slurm-gpu")


def dry_run(profile: str, seeds: int) -> dict[str, float]:
    """Return jobs and processor seconds of a dry-run through a profile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["--scale", "paper", "--seeds", str(seeds), "--profile", f"workflow/profiles/{profile}", "-n"]
    done = subprocess.run(
        [sys.executable, "-m", "replicse", "run", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (jobs,) = re.findall(r"^([\d,]+) jobs:", done.stdout + done.stderr, re.MULTILINE)
    count = int(jobs.replace(",", ""))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"jobs": count, "cpu_seconds": round(seconds, 1), "of_5000": round(seconds / count * 5000, 1)}


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table."""
    for name, case in found["profiles"].items():
        yield row(
            f"dry-run of the paper scale, profile {name}, {case['jobs']:,} jobs: CPU seconds for 5,000",
            f"{case['of_5000']:.1f}",
            goal=f"{found['goal_seconds_of_5000']}",
            met=case["of_5000"] <= found["goal_seconds_of_5000"],
        )


def main() -> None:
    """Measure the profiles whose plugins are installed, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--profiles", nargs="*", default=PROFILES)
    chosen = parser.parse_args()
    found = {profile: dry_run(profile, chosen.seeds) for profile in chosen.profiles}
    record = {"goal_seconds_of_5000": GOAL, "profiles": found}
    write_record("dry_run", record, list(lines_of(record)))
    print(record)


if __name__ == "__main__":
    main()
