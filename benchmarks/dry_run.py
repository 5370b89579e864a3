"""CPU time of dry runs of the paper scale through each profile.

`replicse run -n` plans, and lets Snakemake build the whole DAG and count its jobs; every job is resolved, but not
listed. The goal is 1.2 times the CPU time of Snakemake alone; CPU time depends less on other processes. `limit` is
Snakemake alone on a workflow of the same shape, measured in the same run: as many jobs of each stage and as many files
for each job, below one folder with a wildcard, with equal dependencies, with a file that exists for each job, and
nothing else: no parameters, resources, logs or environments. All are measured in turn, `--rounds` times, and the
smallest time of each counts, because other processes only add to it.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import ROOT, row, write_record

GOAL = 1.2  # times Snakemake alone
ALONE = "snakemake_alone"
PROFILES = ("gpu-box", "slurm", "slurm-gpu")
LIMIT = """
import json

SHAPE = json.load(open("shape.json"))


def needs_of(stage):
    return lambda wildcards: SHAPE[stage]["needs"][wildcards.name]


def specification_of(stage):
    return lambda wildcards: f"specifications/{stage}/{wildcards.name}"


wildcard_constraints:
    scale="paper",
    name="[^/]+",


rule all:
    input:
        [
            f"results/paper/{stage}/{name}/0.{stage}"
            for stage in ("evaluate", "geometry", "count", "report")
            for name in SHAPE[stage]["needs"]
        ],


for stage in SHAPE:

    rule:
        name:
            stage
        input:
            specification_of(stage),
            needs_of(stage),
        output:
            [f"results/{{scale}}/{stage}/{{name}}/{place}.{stage}" for place in range(SHAPE[stage]["files"])],
        shell:
            "touch {output}"
"""


def processor_seconds(words: list[str], folder: Path) -> tuple[float, str]:
    """Return CPU seconds of a command and its children, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout + done.stderr


def facts(jobs: int, seconds: float) -> dict[str, float]:
    """Return jobs, their CPU seconds, and the CPU seconds of 5,000 jobs."""
    return {"jobs": jobs, "cpu_seconds": round(seconds, 1), "of_5000": round(seconds / jobs * 5000, 1)}


def smallest(rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Return the fastest round, and the time for 5,000 jobs in each round."""
    best = min(rounds, key=lambda one: one["cpu_seconds"])
    return {**best, "rounds_of_5000": [one["of_5000"] for one in rounds]}


def study(seeds: int) -> list[str]:
    """Return the arguments that select the study."""
    return ["--scale", "paper", "--seeds", str(seeds)]


def dry_run(profile: str, seeds: int) -> dict[str, float]:
    """Return jobs and CPU seconds of a dry run through a profile."""
    words = [*study(seeds), "--profile", f"workflow/profiles/{profile}", "-n"]
    seconds, printed = processor_seconds([sys.executable, "-m", "replicse", "run", *words], ROOT)
    (jobs,) = re.findall(r"^([\d,]+) jobs:", printed, re.MULTILINE)
    return facts(int(jobs.replace(",", "")), seconds)


def shape(seeds: int) -> dict[str, dict]:
    """Return by stage the number of files a job writes, and each job's inputs.

    An input is the first file of another job.
    """
    from replicse.compile.compiler import compile_study
    from replicse.compile.jobs import list_jobs
    from replicse.spec.config import read_config

    config = read_config([ROOT / "config.yaml"], "paper", seeds, {})
    jobs = list_jobs(compile_study(config, ROOT / "workflow")).values()
    names = {job: job.id.replace("/", "-") or "all" for job in jobs}
    first = {
        file: f"results/paper/{job.stage}/{names[job]}/0.{job.stage}" for job in jobs for file in job.outputs
    }
    found: dict[str, dict] = {}
    for job in jobs:
        # Pages are written only for requested items.
        if job.stage == "page":
            continue
        # Each job also writes a copy of its specification.
        stage = found.setdefault(job.stage, {"files": len(job.outputs) + 1, "needs": {}})
        stage["needs"][names[job]] = [first[file] for file in job.inputs if file in first]
    return found


def limit(seeds: int) -> dict[str, float]:
    """Return jobs and CPU seconds of a dry run of Snakemake alone.

    Its workflow has the same shape.
    """
    told = shape(seeds)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "Snakefile").write_text(LIMIT)
        Path(folder, "shape.json").write_text(json.dumps(told))
        for stage, found in told.items():
            for name in found["needs"]:
                file = Path(folder, "specifications", stage, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        quiet = ["--dry-run", "--quiet", "rules", "progress", "--scheduler", "greedy", "--cores", "all"]
        seconds, _ = processor_seconds([sys.executable, "-m", "snakemake", *quiet], Path(folder))
    return facts(1 + sum(len(stage["needs"]) for stage in told.values()), seconds)


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table."""
    alone = found[ALONE]["of_5000"]
    for name, case in found["profiles"].items():
        yield row(
            f"dry-run of the paper scale, profile {name}, {case['jobs']:,} jobs: CPU seconds for 5,000",
            f"{case['of_5000']:.1f}",
            limit=f"{alone:.1f}",
            ratio=f"{case['of_5000'] / alone:.2f}",
            goal=f"{GOAL}x",
            met=case["of_5000"] <= GOAL * alone,
        )


def main() -> None:
    """Measure profiles with installed plugins and the limit; write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--profiles", nargs="*", default=PROFILES)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    rounds: dict[str, list[dict[str, float]]] = {}
    for _ in range(chosen.rounds):
        rounds.setdefault(ALONE, []).append(limit(chosen.seeds))
        for profile in chosen.profiles:
            rounds.setdefault(profile, []).append(dry_run(profile, chosen.seeds))
    found = {name: smallest(each) for name, each in rounds.items()}
    record = {"goal": GOAL, ALONE: found.pop(ALONE), "profiles": found}
    write_record("dry_run", record, list(lines_of(record)))
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
