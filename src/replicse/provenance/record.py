"""The record of how a number was computed.

It complements the specification. Only `computed` imports torch, for jobs that use it.
"""

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

# Paths of the checkout that can change a number; files that git does not track are included.
MADE_BY = ("src", "workflow", "Snakefile")
# Packages that the code imports, including MTEB's classifiers, except packages that only write documents.
PACKAGES = (
    "torch", "numpy", "scipy", "tokenizers", "transformers", "safetensors", "huggingface_hub", "datasets", "mteb",
    "nltk", "nlpaug", "scikit-learn", "zuko", "pandas", "pyarrow", "pydantic", "pyyaml", "snakemake",
    "sentence-transformers", "peft",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions of Python and of packages that can change numbers.

    Returns:
        A dict from names to versions; packages that are not installed are skipped.
    """
    releases = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            releases[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return releases


def commit() -> tuple[str, bool]:
    """Return the commit of the checkout, and whether the code differs from it.

    Returns:
        The commit and the difference; an empty string and False if the code is not in a git repository.
    """
    root = Path(__file__).resolve().parents[3]
    # Git's environment variables, which exist in a hook, can point to another repository.
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
    """Describe how a job computes the numbers.

    Args:
        device: The device that the job uses.
        precision: The precision, such as "fp32".

    Returns:
        A dict of device, accelerator, precision, threads, kernels and hardware. `kernel` lists the libraries
        of matrix products: two builds of torch on the same processor sum in different orders, and so does one
        build on two processors.
    """
    import torch

    on_gpu = device.type == "cuda"
    build = torch.__config__.show()
    named = {
        "oneDNN": r"MKL-DNN v([\d.]+)",
        "BLAS": r"BLAS_INFO=(\w+)",
        "MKL": r"Kernel Library Version ([\w.]+)",
    }
    libraries = {}
    for name, pattern in named.items():
        if match := re.search(pattern, build):
            libraries[name] = match[1]
    kernels = {"instructions": torch.backends.cpu.get_cpu_capability(), **libraries}
    if multiplies_by_onednn():
        kernels["fp32 products"] = "oneDNN"
    if on_gpu:
        cudnn = torch.backends.cudnn.version()
        kernels = {"CUDA": torch.version.cuda, "HIP": torch.version.hip, "cuDNN": cudnn}
    kernel = {name: str(value) for name, value in kernels.items() if value}
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
    """Return commit, digest of the package and versions, cached per process.

    A job server calls this before it forks, so that the jobs do not compute it again.
    """
    revision, dirty = commit()
    return {"commit": revision, "dirty": dirty, "package_sha256": package_sha256(), "versions": versions()}


def provenance(**facts: Any) -> dict[str, Any]:
    """Create the record for a result, with the loaded plug-ins.

    Args:
        **facts: Other entries of the record.

    Returns:
        A dict of JSON-like data.
    """
    plugins = recorded_plugins()
    used = {"plugins": plugins} if plugins else {}
    return {**software(), **used, "hardware": hardware(), "numerics": numerics(), **facts}
