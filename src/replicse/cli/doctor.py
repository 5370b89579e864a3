"""The verb `doctor`: check whether this machine can run a study."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import psutil

from replicse.cli.answers import SCREEN, add_all_argument, answer, on_a_screen, room, shortened, wrapped
from replicse.cli.arguments import add_study_arguments, chosen_study
from replicse.cli.fetch import OF_HUB, hub_cache, way
from replicse.compile.cost import Cost
from replicse.compile.discarded import list_discarded
from replicse.compile.needs import (
    absent,
    absent_root,
    amounts,
    amounts_text,
    data_files,
    needs,
    size_text,
    tables,
    unpinned_text,
)
from replicse.compile.study import Study
from replicse.data.sts import senteval_root
from replicse.errors import BadInput
from replicse.printable import columns, several
from replicse.registry.registry import current
from replicse.registry.suite_options import to_install

OLDEST = (3, 11, 4)
HUB, PATIENCE = "huggingface.co", 2.0
GIGABYTE = 1e9
SYMBOLS = {"ok": "✓", "note": "○", "missing": "✗"}


@dataclass(frozen=True)
class Check:
    """A check with a state (`ok`, `note` or `missing`) and a remedy.

    The remedy tells the user what to do; by default, it is empty.
    """

    what: str
    state: str
    found: str
    remedy: str = ""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse doctor --scale paper")
    add_all_argument(parser)


def run(arguments: Namespace) -> int:
    """Check software, hardware, network and datasets of a study.

    Args:
        arguments: the parsed arguments.

    Returns:
        The exit code: 1 if something required is missing, else 0.
    """
    plan = chosen_study(arguments)
    findings = [*machine_findings(plan), *data_findings(plan)]
    document = {"scale": plan.scale.name, "findings": [asdict(one) for one in findings]}
    answer(arguments.json, document, finding_lines(plan, findings, arguments))
    return int(any(one.state == "missing" for one in findings))


def finding_lines(plan: Study, findings: Sequence[Check], arguments: Namespace) -> Iterator[str]:
    """Yield the result and the remedy of each check.

    If the lines do not fit on a screen, they are shortened, and missing things come first.

    Args:
        plan: the study.
        findings: the checks.
        arguments: the parsed arguments.
    """
    heading = list(wrapped([f"scale {plan.scale.name}: {plan.scale.title}"]))
    whole = list(columns(chain.from_iterable(map(rows_of, findings)), width=room()))
    if arguments.all or len(heading + whole) <= SCREEN:
        return iter(heading + whole)
    counts = Counter(one.state for one in findings)
    heading.append(", ".join(f"{counts[state]} {state}" for state in reversed(SYMBOLS) if counts[state]))
    findings = sorted(findings, key=lambda one: list(SYMBOLS).index(one.state), reverse=True)
    lines = columns(chain.from_iterable(map(rows_of, findings)))
    parts = ([shortened(line, room())] for line in lines)
    return on_a_screen(arguments, heading, parts, "line", short=True)


def rows_of(one: Check) -> Iterator[tuple[str, str]]:
    """Yield the rows of a check: the result, and the remedy if any."""
    yield f"{SYMBOLS[one.state]} {one.what}", one.found
    if one.remedy:
        yield "", one.remedy


def judged(what: str, good: bool, text: str, remedy: str, otherwise: str = "note") -> Check:
    """Create a check from a condition.

    Args:
        what: the name of the check.
        good: whether the condition is met; the state is then `ok`.
        text: the result to show.
        remedy: what to do if the condition is not met.
        otherwise: the state if the condition is not met. Default: `note`.
    """
    return Check(what, "ok", text) if good else Check(what, otherwise, text, remedy)


def machine_findings(plan: Study) -> Iterator[Check]:
    """Yield checks of software, hardware, network and training cost."""
    version, new = platform.python_version(), sys.version_info[:3] >= OLDEST
    yield judged("Python", new, version, "install Python 3.11.4 or newer", "missing")
    yield Check("torch", "ok", importlib.metadata.version("torch"))
    yield _gpu(plan)
    memory = psutil.virtual_memory().total / GIGABYTE
    yield _amount("memory", memory, plan.scale.needs.memory_gb)
    yield from _disks(plan)
    cores = len(psutil.Process().cpu_affinity() or ())
    yield Check("cores", "ok", str(cores))
    yield _hub(plan)
    yield _slurm()
    yield from _extras(plan)
    cost = Cost(plan)
    time = cost.training(plan.runs).text
    text = f"{several(len(plan.runs), 'run')}, about {time} on {cost.speed.device}"
    yield Check("cost", "ok", text)
    if said := cost.speed.precisions(plan.runs.values()):
        yield judged("precision", len(said) == 1, said[0], said[-1])


def _gpu(plan: Study) -> Check:
    """Check the GPU; torch is imported here, because the import is slow."""
    import torch

    if torch.cuda.is_available():
        names, most = [], 0
        for place in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(place)
            names.append(f"{card.name} {card.total_memory / GIGABYTE:.0f} GB")
            most = max(most, card.total_memory)
        need = Cost(plan).gpu_bytes or 0
        chunks = f"the largest run needs about {size_text(round(need))}, so steps are computed in chunks"
        return judged("GPU", need <= most, ", ".join(names), chunks)
    required = plan.scale.needs.gpu == "required"
    remedy = "this scale needs a GPU" if required else ""
    if torch.version.cuda or torch.version.hip:
        found = "torch cannot find a GPU, although it is a CUDA build"
        remedy = (
            f"check the driver: nvidia-smi should list a GPU and support CUDA {torch.version.cuda} or newer"
        )
    else:
        found = "torch cannot find a GPU (CPU build)"
        if shutil.which("nvidia-smi"):
            remedy = f"install the GPU build: {gpu_build()}"
    return Check("GPU", "missing" if required else "note", found, remedy)


def gpu_build() -> str:
    """Return the command to replace a CPU build of torch with a GPU build.

    `pip install` alone does nothing, because it treats 2.13.0+cpu as equal to 2.13.0. `--force-reinstall` would
    reinstall other packages too.
    """
    release = importlib.metadata.version("torch").partition("+")[0]
    pip = f"{sys.executable} -m pip"
    return f"{pip} uninstall --yes torch && {pip} install torch=={release}"


def _amount(what: str, amount: float, least: float) -> Check:
    return judged(what, amount >= least, f"{amount:.0f} GB", f"this scale needs about {least:.0f} GB")


def _disks(plan: Study) -> Iterator[Check]:
    """Check the free disk space for results and for the hub cache."""
    kept = plan.runs.keys() - list_discarded(plan).keys()
    wanted = Cost(plan).saved_bytes(kept) / GIGABYTE
    here, cache = Path.cwd(), hub_cache()
    of_hub = [need for need in needs(plan) if need.kind in OF_HUB]
    _, fetched, _ = amounts(of_hub)
    if not of_hub or here.stat().st_dev == cache.stat().st_dev:
        least = max(plan.scale.needs.disk_gb, wanted + fetched / GIGABYTE)
        yield _amount("disk free", shutil.disk_usage(here).free / GIGABYTE, least)
        return
    yield _amount("disk free", shutil.disk_usage(here).free / GIGABYTE, max(plan.scale.needs.disk_gb, wanted))
    free = shutil.disk_usage(cache).free / GIGABYTE
    remedy = f"{cache} needs about {fetched / GIGABYTE:.0f} GB for downloads; move HF_HOME"
    yield judged("hub cache disk", free >= fetched / GIGABYTE, f"{free:.0f} GB", remedy)


def _hub(plan: Study) -> Check:
    if os.environ.get("HF_HUB_OFFLINE"):
        reason = "HF_HUB_OFFLINE is set"
    else:
        try:
            socket.create_connection((HUB, 443), PATIENCE).close()
            return Check("hub", "ok", f"{HUB} answers")
        except OSError as error:
            reason = str(error.strerror or error)
    needed = plan.source == "hub" or any("hub" in source for source in plan.backbones.values())
    remedy = (
        "this study uses encoders or datasets of the hub: set HTTPS_PROXY, or copy a filled cache" * needed
    )
    return Check("hub", "missing" if needed else "note", f"{HUB} cannot be reached ({reason})", remedy)


def _slurm() -> Check:
    if not shutil.which("sinfo"):
        return Check("Slurm", "note", "sinfo is not installed")
    try:
        answer = subprocess.run(
            ["sinfo", "-h", "-o", "%P"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return Check("Slurm", "note", "sinfo does not answer")
    plugin = importlib.util.find_spec("snakemake_executor_plugin_slurm") is not None
    partitions = f"partitions {', '.join(answer.stdout.split())}"
    return judged("Slurm", plugin, partitions, "pip install snakemake-executor-plugin-slurm")


def _extras(plan: Study) -> Iterator[Check]:
    """Yield suites of the study with missing packages."""
    for name in sorted(current().suites.keys() & set().union(*plan.suites.values())):
        yield from _missing("packages", [to_install(name, plan.scale.suite_options(name))])


def data_findings(plan: Study) -> Iterator[Check]:
    """Yield checks of the datasets of a study.

    Args:
        plan: the study.

    Yields:
        Files that exist or are missing, pins, sources to download manually, and sources that `replicse fetch`
        downloads.
    """
    if plan.source == "embedded":
        yield Check("data", "ok", "generated, no files needed")
    yield from _missing("data", [absent_root(plan), *absent(plan)])
    local = plan.source == "local" and plan.data_root.is_dir()
    below = [plan.data_root / name for name in data_files(plan)] if local else []
    for path in (*below, *filter(Path.is_file, map(Path, tables(plan)))):
        there = path.is_file()
        size = f" {size_text(path.stat().st_size)}" if there else ""
        yield judged(
            "data", there, f"{path}{size}", f"put the file there; {plan.scale.file} uses it", "missing"
        )
    if local:
        try:
            yield Check("SentEval", "ok", str(senteval_root(plan.data_root)))
        except BadInput as error:
            yield Check("SentEval", "missing", str(error))
    if unpinned := unpinned_text(plan):
        yield Check("pins", "missing", unpinned)
    fetched = []
    for need in needs(plan):
        how = way(need, plan)
        if isinstance(how, str):
            terms = ", ".join(filter(None, [f"licence {need.licence}", size_text(need.bytes)]))
            yield Check("data", "note" if need.kind == "suite" else "missing", f"{need.name}: {terms}", how)
        else:
            fetched.append(need)
    if fetched:
        remedy = f"replicse fetch --scale {plan.scale.name} downloads it; --dry-run lists it"
        yield Check("data", "note", amounts_text(fetched), remedy)


def _missing(what: str, sentences: Iterable[str | None]) -> Iterator[Check]:
    """Yield a check for each message about something missing.

    The part of a message after the semicolon is the remedy.
    """
    for sentence in filter(None, sentences):
        found, _, remedy = sentence.partition("; ")
        yield Check(what, "missing", found, remedy)
