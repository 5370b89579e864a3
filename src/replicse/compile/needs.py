"""What a plan reads from outside: data sets and encoders of the hub, files of the data root; sizes and licences."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from replicse.compile.study import Study
from replicse.registry.architectures import weight_bytes
from replicse.registry.corpora import HubDataset, HubPart
from replicse.registry.registry import current
from replicse.spec.layers import mappings, named_files, workspace_files

# What else than putting it there is done about a table that is absent.
NAMED = "or correct its name in config.yaml, corpora.yaml or sets.yaml"
Kind = Literal["artefact", "part", "encoder", "file", "suite"]


@dataclass(frozen=True)
class Need:
    """Something that a study reads from outside: its name, about how large it is, and its licence.

    `copies` is how many times its size is on the disk in the end, `source` what it is fetched by: the part of a data
    set, the plain source of an encoder and the folder it is brought to, the Download of a file, a suite and its
    options.
    """

    kind: Kind
    name: str
    bytes: int | None
    licence: str
    copies: int
    source: Any = None


def needs(plan: Study) -> Iterator[Need]:
    """Yield what the jobs of a plan read from outside; files only where the data are those of the hub.

    The data root is one for all items, so that its artefacts are needed together.
    """
    files = plan.scale.data.files if plan.source == "hub" else ()
    others = [name for name in data_files(plan) if name not in files] if plan.source == "hub" else []
    downloads = plan.scale.downloads
    named: tuple[tuple[Kind, Iterable[str]], ...] = (("artefact", files), ("file", others))
    for kind, names in named:
        for name in names:
            known = downloads.get(name)
            size, licence = (known.bytes, known.licence) if known else (None, "")
            copies = 2 if kind == "artefact" or (known and known.member) else 1
            yield Need(kind, name, size, licence, copies, known)
    for part in hub_parts(plan, list_outside(plan)):
        name = f"{part.path} {part.files or f'{part.name or str()} {part.split}'.strip()}"
        yield Need("part", name, part.bytes, part.licence or "", 4, part)
    for key, source in plan.backbones.items():
        if hub := source.get("hub"):
            where = {**source, "folder": plan.paths.backbone(key)}
            size = plan.scale.weights.get(hub) or weight_bytes(hub)
            yield Need("encoder", hub, size, "see its model card", 2, where)
    for suite in sorted(current().suites.keys() & set().union(*plan.suites.values())):
        # What some cell reads: the tasks of an item, not all tasks of the suite.
        options = type(plan.scale.suite_options(suite)).of(plan.options(suite, plan.suites), suite)
        if name := options.downloads():
            yield Need("suite", name, options.download_bytes(), "of each set", 2, (suite, options))


def amounts(wanted: Sequence[Need]) -> tuple[int, int, int]:
    """Return the bytes to download, those on the disk in the end, and how many needs are of unknown size."""
    sized = [(need.bytes, need.copies) for need in wanted if need.bytes is not None]
    disk = sum(size * copies for size, copies in sized)
    return sum(size for size, _ in sized), disk, len(wanted) - len(sized)


def amounts_text(wanted: Sequence[Need]) -> str:
    """Return what is to be downloaded, and what it takes of the disk."""
    total, disk, unknown = amounts(wanted)
    rest = f"; {unknown} of unknown size not counted" if unknown else ""
    return f"{size_text(total)} to download, {size_text(disk)} of disk{rest}"


def size_text(count: int | None) -> str:
    """Return a number of bytes as text, a question mark where it is not known."""
    if count is None:
        return "?"
    if count >= 1e12:
        return f"{count / 1e12:.1f} TB"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def hub_parts(plan: Study, read: Iterable[Mapping[str, Any]]) -> list[HubPart]:
    """Return the parts of hub data sets among what is `read`, each once, with what the scale tells of them."""
    described = {
        _key(part): part for corpus in plan.scale.corpora.values() for part in getattr(corpus, "parts", ())
    }
    wanted = (
        part
        for one in read
        if one.get("format") == "hub-dataset"
        for part in HubDataset.of(one, "corpora").parts
    )
    parts = {_key(part): part for part in wanted}
    return [described.get(key, part) for key, part in parts.items()]


def data_files(plan: Study) -> list[str]:
    """Return the files below the data root that some job reads, by name, evaluation sets apart."""
    return named_files(list_outside(plan))


def tables(plan: Study) -> list[str]:
    """Return the files of the working directory that some job reads: corpora and evaluation sets of your own."""
    return workspace_files(list_outside(plan))


def absent_root(plan: Study) -> str:
    """Return a sentence where the data root of a local source is not there; blank where it is."""
    if plan.source != "local" or plan.data_root.is_dir():
        return ""
    remedy = "set data.root in config.yaml, or REPLICSE_DATA, to the folder that contains SentEval"
    if not (plan.root or os.environ.get("REPLICSE_DATA")):
        return f"no data root is set; {remedy}"
    return f"data root {plan.data_root}: no such folder; {remedy}"


def absent(plan: Study) -> Iterator[str]:
    """Yield sentences on corpora, sets and encoders of your own that are not there, encoders where their root is."""
    if files := [file for file in tables(plan) if not Path(file).is_file()]:
        yield f"{', '.join(files)}: no such file; put it there, {NAMED}"
    for hub, folder in (plan.config.folders or {}).items():
        if not Path(folder).expanduser().is_dir():
            yield f"encoder {folder}: no such folder; put {hub} there, or correct folders in the config"
    read = {source.get("folder") for source in plan.backbones.values()}
    for name, one in () if absent_root(plan) else plan.scale.backbones.items():
        if one.folder and one.folder in read and not (place := plan.data_root / one.folder).is_dir():
            key = f"backbones.{name}.folder of {plan.scale.file}"
            yield f"encoder {place}: no such folder; put it there, or correct {key}"


def unpinned_text(plan: Study) -> str:
    """Return which hub artefacts of a plan have no commit in the lock file, and what to do; blank where all have."""
    names = ", ".join(sorted(plan.unpinned))
    return f"no commit in hub.lock.yaml (replicse fetch --pin looks it up): {names}" if names else ""


def _key(part: HubPart) -> tuple[str | None, ...]:
    return part.path, part.name, part.split, part.files, part.revision


def list_outside(study: Study) -> list[Mapping[str, Any]]:
    """Return the plain data in the specifications of a study's jobs that may name something outside, each once."""
    listed: list[Mapping[str, Any]] = study.remember("outside", outside)
    return listed


def outside(plan: Study) -> list[Mapping[str, Any]]:
    """Compute what `list_outside` returns."""
    suites = sorted(set().union(*plan.suites.values()))
    every = mappings(
        [
            list(plan.stores.values()),
            list(plan.tokenizers.values()),
            [part.plain() for encoder in plan.encoders.values() for part in encoder.corpora()],
            [plan.options(suite, plan.suites) for suite in suites if suite in current().suites],
            [run.selection.plain() for run in plan.runs.values()],
            plan.count_job(),
        ]
    )
    return list({json.dumps(each, sort_keys=True): each for each in every}.values())
