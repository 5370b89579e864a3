"""The cache of compiled studies.

A study is compiled again if an input has changed.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import VERSION

from replicse.compile.pickles import Remembered, load_pickle, write_pickle
from replicse.compile.study import Study
from replicse.provenance.source import package_sha256
from replicse.registry.plugins import plugin_places
from replicse.registry.registry import current
from replicse.spec.config import SHIPPED, Config, checked_config, use_all_plugins
from replicse.spec.papers import Paper
from replicse.workspace import looked_up

# The files of papers and scales.
READ = ("papers/*/**/*", "record/*", "scales/*.yaml", "hub.lock.yaml", "datasets.yaml")
SUFFIXES = (".yaml", ".yml", ".csv", ".md", ".py")
FOLDER, MOST_STUDIES = Path(".snakemake", "replicse-studies"), 32
STUDY = "study.pickle"


def load_or_compile(
    values: Config | Mapping[str, Any],
    workflow: Path,
    file: str = "config.yaml",
    only: str = "",
    *,
    as_far_as_possible: bool = False,
    papers: Mapping[str, Paper] | None = None,
) -> Study:
    """Load a compiled study from the cache, or compile it.

    The cached study is used if the inputs are unchanged. The cache is in the folder `.snakemake` of a workspace.

    Args:
        values: the config, or a dict with the keys of a config.
        workflow: the folder of papers and scales.
        file: the file of the config in error messages. Default: "config.yaml".
        only: the item to compile, `paper/item`; the cached study can contain more items. Default: all items.
        as_far_as_possible: whether to skip items with an error instead of raising it.
        papers: a dict from keys to papers; default: the papers are loaded.

    Returns:
        The study, with read-only dicts, sets and lists.

    Raises:
        BadInput: if the config is not valid or an item cannot be compiled.
    """
    config = values if isinstance(values, Config) else checked_config(values, file)
    use_all_plugins(config.plugins, workflow)
    key = _hash_inputs(config, workflow, as_far_as_possible)
    whole, of_item = FOLDER / key, FOLDER / f"{key}-{only.replace('/', '-')}"
    for folder in (of_item, whole) if only else (whole,):
        study = load_pickle(folder / STUDY)
        if isinstance(study, Study) and (not only or only in study.items):
            return _cached(study, folder, config)
    from replicse.compile.compiler import compile_study

    study = compile_study(config, workflow, file, only, papers=papers, as_far_as_possible=as_far_as_possible)
    if not SHIPPED.is_file():
        return study
    folder = of_item if only else whole
    write_pickle(folder / STUDY, study)
    _remove_old(folder)
    return _cached(study, folder, config)


def _cached(study: Study, folder: Path, config: Config) -> Study:
    # Config files with different text but the same values have the same key.
    """Return a cached study with the given config."""
    return replace(study, config=config, remembered=Remembered(folder))


def _remove_old(newest: Path) -> None:
    """Remove the oldest studies of the cache."""
    with suppress(OSError):
        studies = sorted(FOLDER.iterdir(), key=os.path.getmtime)
        for old in studies[:-MOST_STUDIES]:
            if old != newest:
                shutil.rmtree(old, ignore_errors=True)


def _hash_inputs(config: Config, workflow: Path, as_far_as_possible: bool) -> str:
    """Hash the code, plug-ins, papers, scales, lock and config of a study."""
    plugins = [plugin.record() for plugin in current().plugins.values()]
    digest = hashlib.sha256(f"{package_sha256()} {VERSION} {Path.cwd()} {workflow.absolute()}".encode())
    facts = [config.whole(), plugins, as_far_as_possible, os.environ.get("REPLICSE_DATA", "")]
    digest.update(json.dumps(facts, sort_keys=True).encode())
    for file in chain(_read_files(workflow), filter(Path.is_file, plugin_places().values())):
        name = file.relative_to(workflow) if file.is_relative_to(workflow) else file
        digest.update(f"\0{name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _read_files(workflow: Path) -> Iterator[Path]:
    for pattern in READ:
        for file in looked_up(workflow, pattern):
            if file.suffix in SUFFIXES and file.is_file():
                yield file
