"""Provenance: what a number was made with, beyond its spec."""

import functools
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = (
    "torch",
    "numpy",
    "scipy",
    "tokenizers",
    "transformers",
    "snakemake",
    "datasets",
    "nlpaug",
    "pandas",
)


@functools.cache
def package_sha256() -> str:
    """Return the sha256 over the package's own source files, names included."""
    root = Path(__file__).resolve().parents[0]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can change a number."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> tuple[str, bool]:
    """Return the commit of the checkout and whether its files differ from it; ("", False) outside git."""
    root = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return "", False


def hardware() -> dict[str, Any]:
    """Return processor, cores and memory of this machine, without its name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip()
            for line in cpuinfo.read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {"processor": model, "cores": os.cpu_count(), "memory_gib": round(memory / 2**30, 1)}


def provenance(**facts: Any) -> dict[str, Any]:
    """Return the record that is written beside a result; `facts` are the job's own."""
    revision, dirty = commit()
    return {
        "commit": revision,
        "dirty": dirty,
        "package_sha256": package_sha256(),
        "versions": versions(),
        "hardware": hardware(),
        **facts,
    }
