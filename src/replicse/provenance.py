"""Provenance: what a number was made with, beyond its spec. Only `computed` imports torch, for jobs that use it."""

import ast
import functools
import hashlib
import importlib.metadata
import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.errors import BadInput
from replicse.files import read_json, sha256_of, write_json
from replicse.machine import hardware, numerics

if TYPE_CHECKING:
    import torch

PACKAGE = Path(__file__).resolve().parent
# What of the checkout can change a number, files that git does not know yet included: no results, no documents.
MADE_BY = ("src", "workflow", "Snakefile")
# All that the package imports, but for what only turns numbers into documents, and what MTEB classifies with.
PACKAGES = (
    "torch", "numpy", "scipy", "tokenizers", "transformers", "safetensors", "huggingface_hub", "datasets", "mteb",
    "nltk", "nlpaug", "scikit-learn", "zuko", "pandas", "pydantic", "pyyaml", "snakemake",
)  # fmt: skip


@functools.cache
def package_sha256() -> str:
    """Return the sha256 over the package's own files, names and data such as `world/words.yaml` included."""
    digest = hashlib.sha256()
    for path in _files(PACKAGE):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def source_digest(*parts: str, root: Path = PACKAGE, cache: Path | None = None) -> str:
    """Return the sha256 over the code of some folders or files of the package, such as `encoder` or `files.py`.

    Comments, docstrings and formatting do not change it; any other change does, as does one of a data file. The whole
    package takes 0.45 s; `cache`, a JSON file that keeps what unchanged files gave, makes it 0.01 s.
    Raises FileNotFoundError for a part that the package does not have.
    """
    known = _forms(cache)
    before, digest = len(known), hashlib.sha256()
    for part in sorted(parts):
        for path in _files(root / part):
            content = path.read_bytes()
            found = hashlib.sha256(content).hexdigest()
            if path.suffix == ".py":
                if found not in known:
                    words: list[str] = []
                    _add_code(ast.parse(content), words)
                    known[found] = hashlib.sha256("\n".join(words).encode()).hexdigest()
                found = known[found]
            digest.update(f"{path.relative_to(root).as_posix()}\0{found}\n".encode())
    if cache and len(known) > before:
        write_json(cache, known)
    return digest.hexdigest()


def contents_digest(root: Path, files: Iterable[Path], cache: Path) -> str:
    """Return the sha256 over the names below a root and the bytes of some files.

    `cache`, a JSON file, keeps what a file gave by its size and date, so that only what was touched is read again.
    """
    known, digest = _forms(cache), hashlib.sha256()
    before = len(known)
    for file in sorted(files):
        facts = file.stat()
        key = f"{file.resolve()} {facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"
        if key not in known:
            known[key] = sha256_of(file)
        digest.update(f"{file.relative_to(root).as_posix()}\0{known[key]}\n".encode())
    if len(known) > before:
        write_json(cache, known)
    return digest.hexdigest()


@functools.cache
def _forms(cache: Path | None) -> dict[str, str]:
    """Return the digests that a cache keeps, as far as they are known in this process."""
    try:
        return dict(read_json(cache)) if cache else {}
    except (BadInput, TypeError, ValueError):
        return {}


def _files(part: Path) -> list[Path]:
    if not part.exists():
        raise FileNotFoundError(f"{part}: the package has no such folder or file")
    files = [part] if part.is_file() else sorted(path for path in part.rglob("*") if path.is_file())
    return [path for path in files if "__pycache__" not in path.parts]


def _add_code(node: object, words: list[str]) -> None:
    """Add a syntax tree to words, without positions, docstrings, and the empty fields that Python versions add."""
    if isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in ("ctx", "type_comment", "kind"):
                words.append(f"{name}(")
                _add_code(value, words)
                words.append(")")
    elif isinstance(node, list):
        for entry in node:
            # A statement that is but a constant does nothing: a docstring, an ellipsis.
            if not (isinstance(entry, ast.Expr) and isinstance(entry.value, ast.Constant)):
                _add_code(entry, words)
    else:
        words.append(f"{type(node).__name__} {node!r}")


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
    """Return the commit of the checkout and whether its code or workflow differs from it; ("", False) outside git."""
    root = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", *MADE_BY))
    except (OSError, subprocess.CalledProcessError):
        return "", False


def computed(device: "torch.device", precision: str) -> dict[str, Any]:
    """Return what a job computes its numbers with: device, accelerator, precision, threads, kernels and hardware.

    `kernel` names what the products of a matrix are left to: of two builds of torch on one processor, as of one build
    on two, each sums in its own order (issue 10, point 23).
    """
    import torch

    from replicse.encoder.packed.linear import LIBRARY

    on_gpu = device.type == "cuda"
    build = torch.__config__.show()
    named = {
        "oneDNN": r"MKL-DNN v([\d.]+)",
        "BLAS": r"BLAS_INFO=(\w+)",
        "MKL": r"Kernel Library Version ([\w.]+)",
    }
    found = {name: match[1] for name, pattern in named.items() if (match := re.search(pattern, build))}
    cpu = {"instructions": torch.backends.cpu.get_cpu_capability(), "packed linear": LIBRARY, **found}
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
    """Return the record that is written beside a result; `facts` are the job's own."""
    return {**software(), "hardware": hardware(), "numerics": numerics(), **facts}
