"""The external datasets of a study, with size and licence.

The data are datasets and encoders of the hub, and files of the data root.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from replicse.compile.counts import describe_counts
from replicse.compile.study import Study
from replicse.registry.architectures import weight_bytes
from replicse.registry.corpora import HubDataset, HubPart
from replicse.registry.registry import current
from replicse.spec.layers import mappings, named_files, workspace_files

# The second remedy for a missing table.
NAMED = "or correct the file name in config.yaml, corpora.yaml or sets.yaml"
Kind = Literal["artefact", "part", "encoder", "file", "suite"]


@dataclass(frozen=True)
class Need:
    """A dataset, encoder or file that a study uses.

    Args:
        kind: the kind.
        name: the name.
        bytes: the approximate size; None if it is not known.
        licence: the licence.
        copies: the number of copies on the disk in the end.
        source: the source for `replicse fetch`: the part of a dataset, the source of an encoder with the target
            folder, the Download of a file, or a suite with options. Default: None.
    """

    kind: Kind
    name: str
    bytes: int | None
    licence: str
    copies: int
    source: Any = None


def needs(study: Study) -> Iterator[Need]:
    """Yield the external datasets of a study.

    Files are included only if the datasets are from the hub. All items share the data root, so its files are listed
    once.

    Args:
        study: the study.
    """
    if study.source == "hub":
        yield from _list_files(study)
    for part in hub_parts(study, list_outside(study)):
        name = f"{part.path} {part.files or f'{part.name or str()} {part.split}'.strip()}"
        yield Need("part", name, part.bytes, part.licence or "", 4, part)
    for key, source in study.backbones.items():
        if hub := source.get("hub"):
            target = {**source, "folder": study.paths.backbone(key)}
            size = study.scale.weights.get(hub) or weight_bytes(hub)
            yield Need("encoder", hub, size, "see the model card", 2, target)
    for suite in sorted(current().suites.keys() & set().union(*study.suites.values())):
        # Only the tasks in cells, not all tasks of the suite.
        options = type(study.scale.suite_options(suite)).of(study.options(suite, study.suites), suite)
        if name := options.downloads():
            yield Need("suite", name, options.download_bytes(), "of each set", 2, (suite, options))


def _list_files(study: Study) -> Iterator[Need]:
    """Yield the files of the data root: the scale's artefacts, then others."""
    files = study.scale.data.files
    others = [name for name in data_files(study) if name not in files]
    named: tuple[tuple[Kind, Iterable[str]], ...] = (("artefact", files), ("file", others))
    for kind, names in named:
        for name in names:
            download = study.scale.downloads.get(name)
            is_copied = kind == "artefact" or bool(download and download.member)
            copies = 2 if is_copied else 1
            if download is None:
                yield Need(kind, name, None, "", copies)
            else:
                yield Need(kind, name, download.bytes, download.licence, copies, download)


def amounts(wanted: Sequence[Need]) -> tuple[int, int, int]:
    """Sum the sizes of external datasets.

    Args:
        wanted: the external data.

    Returns:
        The bytes to download, the final bytes on the disk, and the number of unknown sizes.
    """
    download = disk = unknown = 0
    for need in wanted:
        if need.bytes is None:
            unknown += 1
        else:
            download += need.bytes
            disk += need.bytes * need.copies
    return download, disk, unknown


def amounts_text(wanted: Sequence[Need]) -> str:
    """Format the sizes of downloads and of the disk space for them.

    Args:
        wanted: the external data.

    Returns:
        A string such as "1.2 GB to download, 2.4 GB of disk".
    """
    total, disk, unknown = amounts(wanted)
    rest = f"; {unknown} of unknown size not counted" if unknown else ""
    return f"{size_text(total)} to download, {size_text(disk)} of disk{rest}"


def size_text(count: int | None) -> str:
    """Format a number of bytes; a question mark if it is not known.

    Args:
        count: the number of bytes, or None.

    Returns:
        A string such as "440.5 MB".
    """
    if count is None:
        return "?"
    if count >= 1e12:
        return f"{count / 1e12:.1f} TB"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def hub_parts(study: Study, read: Iterable[Mapping[str, Any]]) -> list[HubPart]:
    """Return the parts of hub datasets in a list of dicts.

    The parts have the sizes in the scale, and there are no duplicates.

    Args:
        study: the study.
        read: dicts, some of which describe a dataset of the hub.
    """
    described: dict[tuple[str | None, ...], HubPart] = {}
    for corpus in study.scale.corpora.values():
        for part in getattr(corpus, "parts", ()):
            described[_key(part)] = part
    parts: dict[tuple[str | None, ...], HubPart] = {}
    for recipe in read:
        if recipe.get("format") == "hub-dataset":
            for part in HubDataset.of(recipe, "corpora").parts:
                parts[_key(part)] = described.get(_key(part), part)
    return list(parts.values())


def data_files(study: Study) -> list[str]:
    """Return the files of the data root for all jobs, sorted.

    Evaluation datasets are not included.

    Args:
        study: the study.
    """
    return named_files(list_outside(study))


def tables(study: Study) -> list[str]:
    """Return the files of the working directory for all jobs.

    The files are the user's corpora and evaluation datasets.

    Args:
        study: the study.
    """
    return workspace_files(list_outside(study))


def absent_root(study: Study) -> str:
    """Return a sentence if the data root of a local source does not exist.

    Args:
        study: the study.

    Returns:
        The problem and the remedy; an empty string if the root exists or is not used.
    """
    if study.source != "local" or study.data_root.is_dir():
        return ""
    remedy = (
        "set data.root in config.yaml, or REPLICSE_DATA, to the folder that contains the SentEval datasets"
    )
    if not (study.root or os.environ.get("REPLICSE_DATA")):
        return f"the data root is not set; {remedy}"
    return f"data root {study.data_root} does not exist; {remedy}"


def absent(study: Study) -> Iterator[str]:
    """Yield sentences on missing corpora, datasets and encoders of the user.

    Args:
        study: the study.
    """
    if files := [file for file in tables(study) if not Path(file).is_file()]:
        yield f"{', '.join(files)}: file not found; put it there, {NAMED}"
    for hub, folder in (study.config.folders or {}).items():
        if not Path(folder).expanduser().is_dir():
            yield f"encoder folder {folder} does not exist; put {hub} there, or correct folders in the config"
    read = {source.get("folder") for source in study.backbones.values()}
    if absent_root(study):
        return
    for name, backbone in study.scale.backbones.items():
        if backbone.folder and backbone.folder in read:
            place = study.data_root / backbone.folder
            if not place.is_dir():
                key = f"backbones.{name}.folder of {study.scale.file}"
                yield f"encoder folder {place} does not exist; put it there, or correct {key}"


def unpinned_text(study: Study) -> str:
    """Return a sentence on hub artefacts without a commit in the lock file.

    Args:
        study: the study.

    Returns:
        The sentence; an empty string if all artefacts have a commit.
    """
    if not study.unpinned:
        return ""
    names = ", ".join(sorted(study.unpinned))
    return f"hub.lock.yaml does not contain a commit of {names}; use replicse fetch --pin to look it up"


def _key(part: HubPart) -> tuple[str | None, ...]:
    return part.path, part.name, part.split, part.files, part.revision


def list_outside(study: Study) -> list[Mapping[str, Any]]:
    """Return the dicts in job payloads that can name external datasets.

    Args:
        study: the study; it caches the result.

    Returns:
        A list of dicts without duplicates.
    """
    listed: list[Mapping[str, Any]] = study.remember("outside", outside)
    return listed


def outside(study: Study) -> list[Mapping[str, Any]]:
    """Compute the result of `list_outside`.

    Args:
        study: the study.
    """
    suites = sorted(set().union(*study.suites.values()))
    documents: list[Any] = [*study.stores.values(), *study.tokenizers.values()]
    for encoder in study.encoders.values():
        documents += [part.plain() for part in encoder.corpora()]
    documents += [study.options(suite, study.suites) for suite in suites if suite in current().suites]
    documents += [run.selection.plain() for run in study.runs.values()]
    documents.append(describe_counts(study))
    unique = {json.dumps(each, sort_keys=True): each for each in mappings(documents)}
    return list(unique.values())
