"""Processor time of a dry-run of the whole paper scale through each profile (goal: under 10 s for 5,000 jobs).

`replicse run -n` plans, and has Snakemake build the whole DAG and count its jobs; every job is resolved, none
is listed. Time is that of the processor, so that what else runs on the machine counts less.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
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


def main() -> None:
    """Measure the profiles whose plugins are installed, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--profiles", nargs="*", default=PROFILES)
    chosen = parser.parse_args()
    found = {profile: dry_run(profile, chosen.seeds) for profile in chosen.profiles}
    load = round(os.getloadavg()[0] / (os.cpu_count() or 1), 1)
    text = json.dumps({"goal_seconds_of_5000": 10, "load_per_core": load, "profiles": found}, indent=1) + "\n"
    (Path(__file__).parent / "results" / "dry_run.json").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
