"""CPU time of dry runs of the paper scale with each profile.

`replicse run -n` plans a study and lets Snakemake build the whole DAG and count the jobs. Every job is resolved, but
not listed. The goal is 10 s of CPU time for 5,000 jobs. The benchmark uses CPU time because other processes affect it
less. `limit` is Snakemake without replicse, measured in the same run on a workflow of the same shape. This workflow has
the same number of jobs per stage, files per job and dependencies, below one folder with a wildcard, and an existing
specification file for each job. It has no parameters, resources, logs or environments. All cases run in turn,
`--rounds` times. The minimum time of each case is used, because other processes can only increase it.
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

GOAL = 10
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
    """Run a command, and return CPU seconds and output.

    Args:
        words: the command and its arguments.
        folder: the working directory.

    Returns:
        Seconds of the command and its children, and a string of stdout and stderr.
    """
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
    """Return a dict of jobs, CPU seconds, and CPU seconds per 5,000 jobs."""
    return {"jobs": jobs, "cpu_seconds": round(seconds, 1), "of_5000": round(seconds / jobs * 5000, 1)}


def smallest(rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Return the fastest round, with the time per 5,000 jobs of all rounds."""
    best = min(rounds, key=lambda one: one["cpu_seconds"])
    return {**best, "rounds_of_5000": [one["of_5000"] for one in rounds]}


def study(seeds: int) -> list[str]:
    """Return the command-line arguments that select the study."""
    return ["--scale", "paper", "--seeds", str(seeds)]


def dry_run(profile: str, seeds: int) -> dict[str, float]:
    """Dry-run a study with a profile; return jobs and CPU seconds.

    Args:
        profile: the name of a folder in workflow/profiles.
        seeds: the number of seeds.
    """
    words = [*study(seeds), "--profile", f"workflow/profiles/{profile}", "-n"]
    seconds, printed = processor_seconds([sys.executable, "-m", "replicse", "run", *words], ROOT)
    (jobs,) = re.findall(r"^([\d,]+) jobs:", printed, re.MULTILINE)
    return facts(int(jobs.replace(",", "")), seconds)


def shape(seeds: int) -> dict[str, dict]:
    """Return the shape of the study's workflow.

    Args:
        seeds: the number of seeds.

    Returns:
        Dict from stages to dicts: `files` is the number of files per job, `needs` a dict from jobs to their inputs. An
        input is the first file of another job.
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
        # Pages are only written for requested items.
        if job.stage == "page":
            continue
        # Each job also writes a copy of its specification.
        stage = found.setdefault(job.stage, {"files": len(job.outputs) + 1, "needs": {}})
        stage["needs"][names[job]] = [first[file] for file in job.inputs if file in first]
    return found


def limit(seeds: int) -> dict[str, float]:
    """Dry-run Snakemake without replicse; return jobs and CPU seconds.

    The workflow has the same shape.
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
    """Yield the rows of the record's table."""
    alone = found[ALONE]["of_5000"]
    for name, case in found["profiles"].items():
        yield row(
            f"dry-run of the paper scale, profile {name}, {case['jobs']:,} jobs: CPU seconds for 5,000",
            f"{case['of_5000']:.1f}",
            limit=f"{alone:.1f}",
            ratio=f"{case['of_5000'] / alone:.2f}",
            goal=f"{found['goal_seconds_of_5000']}",
            met=case["of_5000"] <= found["goal_seconds_of_5000"],
        )


def main() -> None:
    """Measure the profiles and the limit, and write the record."""
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
    record = {"goal_seconds_of_5000": GOAL, ALONE: found.pop(ALONE), "profiles": found}
    write_record("dry_run", record, list(lines_of(record)))
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
