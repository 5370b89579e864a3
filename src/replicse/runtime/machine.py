"""Processor, memory, build of torch, and settings that select kernels.

This module does not import torch.
"""

import functools
import importlib.util
import os
import platform
import re
import runpy
from pathlib import Path
from typing import Any

# Processor features by which numerical libraries select kernels, with their names in /proc/cpuinfo.
KERNEL_FLAGS = re.compile(r"avx\w*|amx\w*|fma|f16c|asimd\w*|sve\w*|bf16|i8mm")
SETTINGS = re.compile(
    "(OMP|MKL|OPENBLAS|DNNL|ONEDNN|CUBLAS)_.*|ATEN_CPU_CAPABILITY|NVIDIA_TF32_OVERRIDE|TORCH_ALLOW_TF32_.*"
)


def processor_facts() -> dict[str, str]:
    """Load the fields of /proc/cpuinfo, such as `model name` and `flags`.

    Returns:
        A dict, empty if the file does not exist.
    """
    path = Path("/proc/cpuinfo")
    facts: dict[str, str] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
    return facts


@functools.cache
def multiplies_by_onednn() -> bool:
    """Return whether oneDNN computes fp32 matrix products on this processor.

    Otherwise torch's BLAS does. torch calls MKL, which uses only AVX2 on AMD processors. On an EPYC with AVX-512
    and AVX-VNNI, MKL reaches 113 GFLOP/s per core and oneDNN 258. On an older EPYC with AVX-512, which computes
    512 bits in two halves, both reach 100, and oneDNN also compiles a kernel for each number of rows, so that short
    trainings took 1.6 times as long. On Intel processors MKL is faster. The rule depends only on the processor and
    not on timings, because the results of the two libraries differ in the last digit.
    """
    facts = processor_facts()
    flags = facts.get("flags", "").split()
    return facts.get("vendor_id") == "AuthenticAMD" and {"avx512f", "avx_vnni"} <= set(flags)


def hardware() -> dict[str, Any]:
    """Return processor, cores and memory of this machine, without the name.

    Returns:
        A dict of JSON-like data; the memory is in GiB.
    """
    facts = processor_facts()
    flags = facts.get("flags", facts.get("Features", "")).split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "processor": facts.get("model name") or platform.processor() or platform.machine(),
        "kernel_flags": " ".join(flag for flag in flags if KERNEL_FLAGS.fullmatch(flag)),
        "cores": os.cpu_count(),
        "cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
    }


def numerics() -> dict[str, Any]:
    """Return torch's build and the variables that select threads and kernels."""
    spec = importlib.util.find_spec("torch")
    version = Path(spec.origin).parent / "version.py" if spec and spec.origin else Path()
    build = runpy.run_path(str(version)) if version.is_file() else {}
    settings = {key: os.environ[key] for key in sorted(os.environ) if SETTINGS.fullmatch(key)}
    torch_build = {key: build.get(key) for key in ("__version__", "git_version", "cuda", "hip")}
    return {"torch_build": torch_build, "settings": settings}
