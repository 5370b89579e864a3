"""Snakemake on a copy of the checkout, for tests of the workflow."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from places import ROOT

SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def ran(*words, **options):
    """Run a command; return what it printed, and its exit code."""
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def snakemake(folder, *words, env=None, cores="2"):
    command = [str(SNAKEMAKE), *(["--cores", cores] if cores else []), *words]
    return ran(*command, cwd=folder, env=env)


def copied(folder):
    """Copy into a folder what a study reads of the checkout, what is compiled of it too, and return the folder."""
    # Python writes what it compiles under another name first, which may be gone when it is copied.
    being_written = shutil.ignore_patterns("*.pyc.*")
    for name in ("workflow", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=being_written)
    for name in ("Snakefile", "config.yaml", "environment.yml"):
        shutil.copy(ROOT / name, folder)
    return folder


def jobs(output):
    """Return the job counts of a dry-run."""
    table = output.partition("Job stats:")[2].partition("Reasons")[0]
    return {name: int(count) for name, count in re.findall(r"^([a-z_]\w*)\s+(\d+)$", table, re.MULTILINE)}
