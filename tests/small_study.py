"""A minimal study with every stage, and functions to compare the results.

The encoder is pre-trained for so few steps that the scores mean nothing; they are only compared with each
other.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml
from filelock import FileLock
from snakemake_runs import copied, ran

ROWS = {"simcse/table3": ["p0.0", "p0.1"]}
CONFIG = {"scale": "micro", "papers": {"simcse": ["table3"]}, "rows": ROWS, "seeds": [0]}
# A backbone and two rows.
RUNS = 3


def checkout(folder: Path, pretraining: int = 40) -> Path:
    """Copy the checkout to a folder, with a config and few pre-training steps.

    Args:
        folder: Folder to create.
        pretraining: Number of pre-training steps. Default: 40.
    """
    folder.mkdir(exist_ok=True)
    copied(folder)
    scale = folder / "workflow/scales/micro.yaml"
    steps = f"epochs: 20, steps: {pretraining}"
    text, found = re.subn(r"epochs: 20, steps: \d+", steps, scale.read_text(encoding="utf-8"))
    assert found == 1
    scale.write_text(text, encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    return folder


def command(*words: str) -> list[str]:
    """Return the command of `replicse run` as a list."""
    return [sys.executable, "-m", "replicse", "run", *words]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment for a study that uses the code in the folder."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder / "src")}


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the study of a folder on two cores; return output and exit code."""
    return ran(*command("--cores", "2"), cwd=folder, env=environment(folder))


def undisturbed(folder: Path) -> dict[str, bytes]:
    """Return the results of the study, run on this machine without any fault.

    Processes that use the same folder wait until the first process has run the study.
    """
    with FileLock(f"{folder}.lock"):
        if not (folder / "reports/micro/report.html").exists():
            done = run(checkout(folder))
            assert done.returncode == 0, done.stdout + done.stderr
    return results(folder)


def results(folder: Path) -> dict[str, bytes]:
    """Return the content of each result file of a study, by path.

    These are tables, items, cells and verdicts. The report and the provenance of runs are left out, because
    they also contain times, machines and process ids.
    """
    home = folder / "results/micro"
    files = [*home.glob("tables/**/*.csv"), *home.glob("items/**/*.json"), *home.glob("*.csv")]
    files += (folder / "figures/micro").glob("**/*.csv")
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}
