"""The cache of compiled studies.

A study is compiled again if an input has changed. The cache is in the user's cache folder and not in the workspace,
because Python's pickle format can contain code: verbs must not run code that is in a folder from somebody else.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
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
from replicse.runtime.limits import cache_home
from replicse.spec.config import SHIPPED, Config, checked_config, use_all_plugins
from replicse.spec.papers import Paper
from replicse.workspace import looked_up

# The files of papers and scales.
READ = ("papers/*/**/*", "record/*", "scales/*.yaml", "hub.lock.yaml", "datasets.yaml")
SUFFIXES = (".yaml", ".yml", ".csv", ".md", ".py")
STUDY, MOST_STUDIES = "study.pickle", 32


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

    The cached study is used if the inputs are unchanged.

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
    folders = _folders(key, only)
    for folder in folders:
        study = load_pickle(folder / STUDY)
        if isinstance(study, Study) and (not only or only in study.items):
            return _cached(study, folder, config)
    from replicse.compile.compiler import compile_study

    study = compile_study(config, workflow, file, only, papers=papers, as_far_as_possible=as_far_as_possible)
    if not SHIPPED.is_file() or not folders:
        return study
    write_pickle(folders[0] / STUDY, study)
    _remove_old(folders[0])
    return _cached(study, folders[0], config)


def cache_folder() -> Path | None:
    """Return the folder where studies are cached; None without a home folder."""
    home = cache_home(os.environ)
    return home / "replicse" / "studies" if home and home.is_absolute() else None


def _folders(key: str, only: str) -> Sequence[Path]:
    """Return the folders that can contain a study, the folder to write first."""
    home = cache_folder()
    if home is None:
        return ()
    with suppress(OSError):
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    of_item = [home / f"{key}-{only.replace('/', '-')}"] if only else []
    return (*of_item, home / key)


def _cached(study: Study, folder: Path, config: Config) -> Study:
    # Config files with different text but the same values have the same key.
    """Return a cached study with the given config."""
    return replace(study, config=config, remembered=Remembered(folder))


def _remove_old(newest: Path) -> None:
    """Remove the oldest studies of the cache."""
    with suppress(OSError):
        studies = sorted(newest.parent.iterdir(), key=os.path.getmtime)
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
