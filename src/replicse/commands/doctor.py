"""The verb that says what this machine has for a study, and what a study would still need. It imports torch last."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from replicse.commands import Action, room
from replicse.commands.study import add_study_arguments, chosen_plan, hours_facts, interval_text
from replicse.data.sts import senteval_root
from replicse.errors import BadInput
from replicse.printable import columns
from replicse.registry.corpora import SIMCSE_DATA, Download, HubPart
from replicse.study.plan.cost import Cost
from replicse.study.plan.plan import Plan

OLDEST = (3, 11, 4)
HUB, PATIENCE = "huggingface.co", 2.0
ENGINES = ("pdflatex", "xelatex", "lualatex", "tectonic")
GIGABYTE = 1e9
LEAST_DISK = {"micro": 1, "compact": 5, "paper": 200}
LEAST_MEMORY = {"micro": 4, "compact": 8, "paper": 32}
SYMBOLS = {"ok": "✓", "note": "○", "missing": "✗"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `ok`, worth a `note`, or `missing`, with what was found and what to do."""

    what: str
    state: str
    found: str
    remedy: str = ""


def doctor_verb(parser: ArgumentParser) -> Action:
    """Look at programs, hardware, the hub and the data files of a study; exit 1 where one is missing."""
    add_study_arguments(parser, "replicse doctor --scale paper")

    def action(arguments: Namespace) -> int:
        plan = chosen_plan(arguments)
        findings = [*machine_findings(plan), *data_findings(plan)]
        if arguments.json:
            print(json.dumps([asdict(one) for one in findings], indent=1, ensure_ascii=False))
        else:
            print(f"scale {plan.scale.name}: {plan.scale.title}")
            rows = []
            for one in findings:
                rows.append((f"{SYMBOLS[one.state]} {one.what}", one.found))
                rows += [("", one.remedy)] if one.remedy else []
            print("\n".join(columns(rows, width=room())))
        return int(any(one.state == "missing" for one in findings))

    return action


def machine_findings(plan: Plan) -> Iterator[Finding]:
    """Yield what is found of programs and hardware."""
    version = platform.python_version()
    old = sys.version_info[:3] < OLDEST
    yield Finding(
        "Python", "missing" if old else "ok", version, "install Python 3.11.4 or newer" if old else ""
    )
    yield _torch(plan)
    yield _gpu(plan)
    memory = psutil.virtual_memory().total / GIGABYTE
    yield _amount("memory", memory, LEAST_MEMORY.get(plan.scale.name, 0))
    free = shutil.disk_usage(Path.cwd()).free / GIGABYTE
    yield _amount("disk free", free, LEAST_DISK.get(plan.scale.name, 0))
    yield Finding("cores", "ok", str(len(psutil.Process().cpu_affinity() or ())))
    engine = next(filter(None, map(shutil.which, ENGINES)), None)
    yield Finding(
        "LaTeX", "ok" if engine else "note", engine or f"none of {', '.join(ENGINES)}",
        "" if engine else "without one there is no report.pdf; everything else is written",
    )  # fmt: skip
    yield _hub(plan)
    yield _slurm()
    cost = Cost(plan)
    hours = cost.hours(plan.runs)
    yield Finding(
        "cost",
        "ok",
        f"{len(plan.runs)} runs, about {interval_text(hours_facts(hours))} on {cost.speed.device}",
    )


def _torch(plan: Plan) -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding("torch", "missing", "not installed", "pip install -r requirements/run.txt")
    return Finding("torch", "ok", importlib.metadata.version("torch"))


def _gpu(plan: Plan) -> Finding:
    """Return what torch can compute on; only this needs torch."""
    try:
        import torch
    except ImportError:
        return Finding("GPU", "note", "unknown without torch")
    if torch.cuda.is_available():
        cards = [torch.cuda.get_device_properties(place) for place in range(torch.cuda.device_count())]
        return Finding(
            "GPU", "ok", ", ".join(f"{card.name} {card.total_memory / GIGABYTE:.0f} GB" for card in cards)
        )
    build = "a GPU build" if torch.version.cuda else "a CPU build"
    seen = shutil.which("nvidia-smi") is not None
    state = "missing" if plan.scale.comparable else "note"
    remedy = (
        "install the GPU build of torch first (README, A GPU box)"
        if seen
        else "this scale is meant for a GPU"
    )
    return Finding(
        "GPU", state, f"none that torch sees ({build})", remedy if seen or plan.scale.comparable else ""
    )


def _amount(what: str, amount: float, least: float) -> Finding:
    short = amount < least
    remedy = f"this scale wants about {least:.0f} GB" if short else ""
    return Finding(what, "note" if short else "ok", f"{amount:.0f} GB", remedy)


def _hub(plan: Plan) -> Finding:
    if os.environ.get("HF_HUB_OFFLINE"):
        reason = "HF_HUB_OFFLINE is set"
    else:
        try:
            socket.create_connection((HUB, 443), PATIENCE).close()
            return Finding("hub", "ok", f"{HUB} answers")
        except OSError as error:
            reason = str(error.strerror or error)
    needed = plan.source == "hub" or any("hub" in source for source in plan.backbones.values())
    remedy = (
        "encoders or data of this study come from it: set HTTPS_PROXY, or fill the cache elsewhere"
        if needed
        else ""
    )
    return Finding("hub", "missing" if needed else "note", f"{HUB} is not reached ({reason})", remedy)


def _slurm() -> Finding:
    if not shutil.which("sinfo"):
        return Finding("Slurm", "note", "no sinfo here")
    try:
        told = subprocess.run(
            ["sinfo", "-h", "-o", "%P"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return Finding("Slurm", "note", "sinfo does not answer")
    plugin = importlib.util.find_spec("snakemake_executor_plugin_slurm") is not None
    found = f"partitions {', '.join(told.stdout.split())}"
    return Finding(
        "Slurm",
        "ok" if plugin else "note",
        found,
        "" if plugin else "pip install snakemake-executor-plugin-slurm",
    )


def data_findings(plan: Plan) -> Iterator[Finding]:
    """Yield what a study's corpora and evaluation sets need, each file once; nothing for data that are generated."""
    if plan.source == "embedded":
        yield Finding("data", "ok", "generated, nothing to place")
        return
    named = plan.root or os.environ.get("REPLICSE_DATA", "")
    if plan.source == "local" and not named:
        yield Finding("data", "missing", "no data root", "set data.root in config.yaml, or REPLICSE_DATA")
        return
    root = Path(named) if plan.source == "local" else Path(plan.paths.results) / "data"
    seen: set[str] = set()
    for name in dict.fromkeys(spec["corpus"]["name"] for spec in plan.stores.values()):
        for one in _corpus(plan, name, root):
            if one.found not in seen:
                seen.add(one.found)
                yield one
    if plan.source == "local":
        yield _senteval(root)


def _corpus(plan: Plan, name: str, root: Path) -> Iterator[Finding]:
    """Yield what one corpus is read from: parts of hub data sets with licence and size, or files below the root."""
    corpus = plan.scale.corpora[name]
    for part in getattr(corpus, "parts", ()):
        yield Finding(
            "data",
            "note",
            f"https://huggingface.co/datasets/{part.path} {_terms(part)}".strip(),
            "downloaded when run",
        )
    given = corpus.plain()
    for file in filter(None, [given.get("file"), *(given.get("files") or ())]):
        path = root / file
        if path.is_file():
            yield Finding("data", "ok", f"{path} {path.stat().st_size / 1e6:,.1f} MB")
        elif plan.source == "hub" and file in plan.scale.data.files:
            yield Finding(
                "data",
                "note",
                f"{file}: from https://huggingface.co/datasets/{SIMCSE_DATA}",
                "downloaded when run",
            )
        elif plan.source == "hub" and file in plan.scale.downloads:
            yield _download(plan.scale.downloads[file], file, path)
        else:
            rows = plan.scale.rows(name)
            size = f" of {rows:,} rows" if rows else ""
            yield Finding(
                "data", "missing", str(path), f"put the file{size} there (corpus {name} of {plan.scale.file})"
            )


def _download(source: Download, file: str, path: Path) -> Finding:
    """Return what is known of a file that no hub carries; one that a person has to bring is missing."""
    told = f"{file}: from {source.address} {_terms(source)}"
    if source.by_hand:
        return Finding("data", "missing", told, f"{source.by_hand}; put it at {path}")
    return Finding("data", "note", told, "downloaded by replicse fetch")


def _terms(source: Download | HubPart) -> str:
    """Return the licence and the size of what is downloaded, as far as they are known."""
    size = f"{source.bytes / 1e6:,.0f} MB" if source.bytes else ""
    return ", ".join(filter(None, (f"licence {source.licence}" if source.licence else "", size)))


def _senteval(root: Path) -> Finding:
    try:
        return Finding("SentEval", "ok", str(senteval_root(root)))
    except BadInput as error:
        return Finding("SentEval", "missing", str(error))
