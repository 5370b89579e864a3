"""Provenance: what a number was made with, beyond its spec. Only `computed` imports torch, for jobs that use it."""

import functools
import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.provenance.source import package_sha256
from replicse.registry.plugins import recorded_plugins
from replicse.runtime.machine import hardware, multiplies_by_onednn, numerics

if TYPE_CHECKING:
    import torch

# What of the checkout can change a number, files that git does not know yet included: no results, no documents.
MADE_BY = ("src", "workflow", "Snakefile")
# All that the package imports, but for what only turns numbers into documents, and what MTEB classifies with.
PACKAGES = (
    "torch", "numpy", "scipy", "tokenizers", "transformers", "safetensors", "huggingface_hub", "datasets", "mteb",
    "nltk", "nlpaug", "scikit-learn", "zuko", "pandas", "pyarrow", "pydantic", "pyyaml", "snakemake",
    "sentence-transformers", "peft",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can change a number."""
    releases = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            releases[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return releases


def commit() -> tuple[str, bool]:
    """Return the commit of the checkout and whether its code or workflow differs from it; ("", False) outside git."""
    root = Path(__file__).resolve().parents[3]
    # Git's own variables, as in a hook, may name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return result.stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", *MADE_BY))
    except (OSError, subprocess.CalledProcessError):
        return "", False


def computed(device: "torch.device", precision: str) -> dict[str, Any]:
    """Return what a job computes its numbers with: device, accelerator, precision, threads, kernels and hardware.

    `kernel` names the libraries that compute matrix products: two builds of torch on one processor sum in different
    orders, and so does one build on two processors.
    """
    import torch

    on_gpu = device.type == "cuda"
    build = torch.__config__.show()
    named = {
        "oneDNN": r"MKL-DNN v([\d.]+)",
        "BLAS": r"BLAS_INFO=(\w+)",
        "MKL": r"Kernel Library Version ([\w.]+)",
    }
    libraries = {name: match[1] for name, pattern in named.items() if (match := re.search(pattern, build))}
    cpu = {"instructions": torch.backends.cpu.get_cpu_capability(), **libraries}
    if multiplies_by_onednn():
        cpu["fp32 products"] = "oneDNN"
    gpu = {"CUDA": torch.version.cuda, "HIP": torch.version.hip, "cuDNN": torch.backends.cudnn.version()}
    kernel = {name: str(value) for name, value in (gpu if on_gpu else cpu).items() if value}
    return {
        "device": device.type,
        "accelerator": torch.cuda.get_device_name(device) if on_gpu else "",
        "precision": precision,
        "threads": torch.get_num_threads(),
        "kernel": kernel,
        "hardware": hardware(),
        "numerics": numerics(),
    }


@functools.cache
def software() -> dict[str, Any]:
    """Return the commit, the digest of the package and the versions that a process works with, the same all its life.

    A server of jobs calls this before it forks, so that none of them looks again.
    """
    revision, dirty = commit()
    return {"commit": revision, "dirty": dirty, "package_sha256": package_sha256(), "versions": versions()}


def provenance(**facts: Any) -> dict[str, Any]:
    """Return the record that is written next to a result, with the plug-ins in use; `facts` are the job's own."""
    plugins = recorded_plugins()
    used = {"plugins": plugins} if plugins else {}
    return {**software(), **used, "hardware": hardware(), "numerics": numerics(), **facts}
