"""A study kept: all that was compiled, read back as long as what it was compiled from is the same."""

import copyreg
import hashlib
import io
import json
import os
import pickle
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import VERSION

from replicse.compile.study import Study
from replicse.errors import BadInput, Failed
from replicse.files import atomic_write
from replicse.provenance.source import package_sha256
from replicse.registry.registry import current
from replicse.spec.config import SHIPPED, Config, checked_config, use_all_plugins
from replicse.spec.papers import Paper
from replicse.workspace import looked_up

# What is read of papers and scales; so many of the newest studies are kept.
READ = ("papers/*/**/*", "record/*", "scales/*.yaml", "hub.lock.yaml", "datasets.yaml")
SUFFIXES = (".yaml", ".yml", ".csv", ".md", ".py")
LARGE = ("items", "cells", "runs", "encoders")  # kept by parts, as papers are
KEPT, MOST_KEPT = Path(".snakemake", "replicse-studies"), 32
Key = TypeVar("Key")
Value = TypeVar("Value")


class _Pickler(pickle.Pickler):
    """Writes paths of the workflow as they are below it: a workspace may be moved, and given by another name."""

    def __init__(self, stream: io.BytesIO, workflow: Path) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        own: dict[type, Any] = {type(workflow): partial(_reduced, workflow), MappingProxyType: _thawed}
        self.dispatch_table = copyreg.dispatch_table | own


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, workflow: Path) -> None:
        super().__init__(stream)
        self._workflow = workflow

    def find_class(self, module: str, name: str) -> Any:
        return self._workflow.joinpath if name == below.__name__ else super().find_class(module, name)


def below(place: str) -> Path:
    """Stand for the workflow's `joinpath` in what is pickled."""
    raise NotImplementedError


def _reduced(workflow: Path, path: Path) -> Any:
    inside = path.is_relative_to(workflow)
    return (below, (path.relative_to(workflow).as_posix(),)) if inside else path.__reduce__()


def read_only(mapping: dict[Any, Any]) -> Mapping[Any, Any]:
    """Return a mapping that nobody can change, which by itself cannot be pickled."""
    return MappingProxyType(mapping)


def _thawed(mapping: Mapping[Any, Any]) -> Any:
    return read_only, (dict(mapping),)


def _pickled(value: object, workflow: Path) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream, workflow).dump(value)
    return stream.getvalue()


def _unpickled(data: bytes, workflow: Path) -> Any:
    return _Unpickler(io.BytesIO(data), workflow).load()


class Built(Mapping[Key, Value]):
    """A mapping whose values are unpickled when they are first asked for."""

    def __init__(self, values: Mapping[Key, Value], workflow: Path) -> None:
        self._data = {key: _pickled(value, workflow) for key, value in values.items()}
        self._workflow, self._built = workflow, dict[Key, Value]()

    def __getitem__(self, key: Key) -> Value:
        if key not in self._built:
            self._built[key] = _unpickled(self._data[key], self._workflow)
        return self._built[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


def study_of(
    values: Config | Mapping[str, Any],
    workflow: Path,
    file: str = "config.yaml",
    only: str = "",
    *,
    as_far_as_possible: bool = False,
    of_workflow: bool = False,
    papers: Mapping[str, Paper] | None = None,
) -> Study:
    """Return the study of a config as `compile_study` does, read back where it was compiled from the same before.

    With `only` it may hold more than that item. It is kept in the folder .snakemake of a workspace, the one that is
    `of_workflow` with its jobs. Raises BadInput as `compile_study` does.
    """
    config = values if isinstance(values, Config) else checked_config(values, file)
    use_all_plugins(config.plugins, workflow)
    made_from = inputs_digest(config, workflow, as_far_as_possible)
    kept, of_item = KEPT / made_from, KEPT / f"{made_from}-{only.replace('/', '-')}"
    for place in (of_item, kept) if only else (kept,):
        study = read_study(place, config, workflow)
        if study and (not only or only in study.items):
            break
    else:
        from replicse.compile.compiler import compile_study

        place = of_item if only else kept
        study = compile_study(
            config, workflow, file, only, papers=papers, as_far_as_possible=as_far_as_possible
        )
        if not of_workflow and SHIPPED.is_file():
            # Of what is planned as far as possible nothing is run, and nobody asks for its costs.
            write_study(study, place, costs=not as_far_as_possible)
    if of_workflow and not isinstance(vars(study).get("jobs"), Built):
        write_study(study, place, jobs=True)
    return study


def inputs_digest(config: Config, workflow: Path, *asked: object) -> str:
    """Return the digest of what a study is made from: code, plug-ins in use, papers, scales, lock, config."""
    plugins = [plugin.record() for plugin in current().plugins.values()]
    digest = hashlib.sha256(f"{package_sha256()} {VERSION}".encode())
    digest.update(json.dumps([config.whole(), plugins, asked], sort_keys=True).encode())
    for pattern in READ:
        for file in looked_up(workflow, pattern):
            if file.suffix in SUFFIXES and file.is_file():
                name = file.relative_to(workflow) if file.is_relative_to(workflow) else file
                digest.update(f"\0{name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def write_study(study: Study, place: Path, jobs: bool = False, costs: bool = True) -> None:
    """Write a study where that can be written, with its jobs and what costs rest on; the newest of all stay."""

    def built(values: Mapping[Key, Value]) -> Built[Key, Value]:
        return Built(values, study.workflow)

    papers = {
        key: replace(paper, recipes=built(paper.recipes), items=built(paper.items))
        for key, paper in study.papers.items()
    }
    large: dict[str, Any] = {name: built(getattr(study, name)) for name in LARGE}
    parts = replace(study, papers=built(papers), **large)
    # A folder of the data root may come or go without any input of the study.
    if costs and not any("folder" in source for source in study.backbones.values()):
        extents = built(study.extents)
        vars(parts).update(depends=study.depends, estimates=study.estimates, extents=extents)
    if jobs:
        named = {key: replace(job, modules=job.code, specs=()) for key, job in study.jobs.items()}
        vars(parts).update(jobs=built(named))
    # A person's own encoders, whose files are inputs of jobs.
    own = (source.get("folder", "") for source in study.backbones.values())
    folders = {folder: _listed(folder) for folder in own if folder.startswith((".", "/"))}
    with suppress(OSError, Failed, BadInput), atomic_write(place) as temporary:
        temporary.write_bytes(_pickled((folders, parts), study.workflow))
        for old in sorted(KEPT.iterdir(), key=os.path.getmtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)


def read_study(place: Path, config: Config, workflow: Path) -> Study | None:
    """Return the study in a file; None where there is none, it is broken, or of other folders of a person's own."""
    # What can go wrong with a broken file is whatever its bytes say.
    with suppress(Exception):
        folders, study = _unpickled(place.read_bytes(), workflow)
        if all(_listed(folder) == files for folder, files in folders.items()):
            vars(study).update(config=config)
            return study
    return None


def _listed(folder: str) -> list[str]:
    return sorted(file.name for file in Path(folder).glob("*") if file.is_file())
