"""Shared arguments of several verbs, and the selected study."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.compile.cache import load_or_compile
from replicse.compile.paths import Paths
from replicse.compile.study import Study
from replicse.errors import BadInput, nearest
from replicse.judge.values.folder import study_folder
from replicse.registry.artefacts import CONFIG, DATA
from replicse.registry.poolings import pooling_of
from replicse.spec.config import (
    SHIPPED,
    by_paper,
    read_config,
    refuse_foreign_plugins,
)
from replicse.workspace import workflow_folder

MOST_SEEDS = 1000


def add_study_arguments(parser: ArgumentParser, example: str) -> None:
    """Add the arguments to select a study: --config, --scale, --seeds, ...

    Args:
        parser: the parser of a verb.
        example: an example command for the help.
    """
    parser.epilog = f"example:\n  {example}"
    parser.add_argument(
        "--config", "--configfile", action="append", default=[], metavar="FILE",
        help="YAML merged over config.yaml, or KEY=VALUE; repeatable",
    )  # fmt: skip
    add_study_argument(parser)
    parser.add_argument("--scale", help="scale to use; default: the scale of the config")
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="use seeds 0 to N-1; default: the seeds of the config"
    )
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def add_study_argument(parser: ArgumentParser) -> None:
    """Add the option --study, the value of which `study_file` uses."""
    text = "a committed study, or the folder or config.json of your own study"
    parser.add_argument("--study", help=text)


def add_workflow_argument(parser: ArgumentParser) -> None:
    """Add the option --workflow for the folder of papers and scales."""
    parser.add_argument(
        "--workflow",
        type=Path,
        metavar="FOLDER",
        default=workflow_folder(),
        help="default: $REPLICSE_WORKFLOW, workflow, the package's",
    )


def add_items_argument(parser: ArgumentParser) -> None:
    """Add the argument for the items to select, which `chosen_config` uses."""
    text = "paper/item or paper; default: your own papers if this folder has any, else all of the config"
    parser.add_argument("items", nargs="*", metavar="ITEM", help=text)


def study_file(name: str) -> Path:
    """Return the config file of a study.

    Args:
        name: the config file, the folder that contains the file, or the name of a committed study.

    Raises:
        BadInput: if the study was run with plug-ins that are not in config.yaml of this folder.
    """
    file = Path(name)
    if not file.suffix or file.is_dir():
        file = study_folder(name) / CONFIG
    if file.name == CONFIG and file.is_file():
        refuse_foreign_plugins(file)
    return file


def check_here(record: Path, paths: Paths) -> None:
    """Raise BadInput if a study was run in another folder.

    Args:
        record: the config file in the results folder of the study.
        paths: the paths of the study if it is run in this folder.
    """
    was_run = record.name == CONFIG and record.with_name(DATA).exists()
    if was_run and record.resolve() != Path(paths.config).resolve():
        raise BadInput(
            f"{record}: not {paths.config} of this folder; go to the folder where the study was run"
        )


def chosen_config(arguments: Namespace, own: bool = False) -> tuple[dict[str, Any], str]:
    """Load the selected config.

    Args:
        arguments: the parsed arguments.
        own: whether to use only the papers of this folder by default, if it has any. Default: False, all papers.

    Returns:
        The config as a dict, and the source that error messages should name.
    """
    files, settings = config_layers(arguments)
    config = read_config(files, arguments.scale, arguments.seeds, settings)
    papers = own_papers(config, arguments) if own else {}
    return asked({**config, **papers}, arguments), config_source(files[-1], settings)


def config_source(file: Path, settings: Mapping[str, str]) -> str:
    """Name the source of a config for error messages.

    Args:
        file: the last config file.
        settings: the settings of --config.
    """
    return f"{file} with --config" if settings else str(file)


def asked(config: dict[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Restrict a config to the items of the command line, if any are given.

    Args:
        config: a dict with the settings of the config.
        arguments: the parsed arguments; `items` is a list such as ["simcse/table3"].

    Returns:
        A new dict with other `papers`, or the same dict if the list is empty.
    """
    items = getattr(arguments, "items", None)
    return {**config, "papers": by_paper(items)} if items else config


def own_papers(config: Mapping[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Return the papers of this folder as a config.

    Args:
        config: a dict with the settings of the config.
        arguments: the parsed arguments.

    Returns:
        A dict with `papers`. Empty if this folder has no papers, or if other papers are selected.
    """
    keys = [file.parent.name for file in sorted(Path().glob("papers/*/paper.yaml"))]
    named = arguments.config or arguments.study or config.get("papers") != "all"
    return {"papers": by_paper(keys)} if keys and not named else {}


def config_layers(arguments: Namespace) -> tuple[list[Path], dict[str, str]]:
    """Return the config files and the settings of --config.

    Args:
        arguments: the parsed arguments; `config` is a list of files and of settings such as "seeds=[0,1]".

    Returns:
        The list of files, later files override earlier ones, and a dict from key to value as YAML.

    Raises:
        BadInput: if --seeds is out of range, or --row is given without an item.
    """
    if arguments.seeds is not None and not 1 <= arguments.seeds <= MOST_SEEDS:
        raise BadInput(f"--seeds is {arguments.seeds}, but should be between 1 and {MOST_SEEDS:,}")
    settings: dict[str, str] = {}
    files = [SHIPPED]
    for word in arguments.config:
        if "=" not in word:
            if Path(word) != SHIPPED:
                files.append(Path(word))
            continue
        key, text = word.split("=", 1)
        first, *inner = key.split(".")
        for name in reversed(inner):
            text = f"{{{name}: {text}}}"
        if inner and first in settings:  # two keys of one dict
            text = f"{settings[first].removesuffix('}')}, {text.removeprefix('{')}"
        settings[first] = text
    if rows := getattr(arguments, "row", None):
        by_item = dict.fromkeys(_items_of_rows(arguments.item), own_rows(rows))
        # Executors of clusters cannot quote the backslashes of escaped letters.
        settings["rows"] = json.dumps(by_item, ensure_ascii=False)
    return [study_file(arguments.study)] if arguments.study else files, settings


def _items_of_rows(words: Sequence[str]) -> list[str]:
    """Return the items of --row.

    Raises:
        BadInput: if there are none, or for a paper.
    """
    if not words:
        raise BadInput("--row needs an item; add one, such as paper/item")
    items = [word.replace("_", "/", 1) for word in words]
    for item in items:
        if "/" not in item:
            raise BadInput(f"--row adds a row to an item; write an item of {item}, such as {item}/table1")
    return items


def own_rows(words: Iterable[str]) -> dict[str, dict[str, str]]:
    """Parse the values of --row.

    Args:
        words: strings such as "NAME=FOLDER" or "NAME=HUB-ID:POOLING".

    Returns:
        A dict from name to row; a row is a dict with `folder` or `hub`, and `pooling` if a pooling is given.

    Raises:
        BadInput: if a string has another form, or the pooling is unknown.
    """
    rows: dict[str, dict[str, str]] = {}
    for word in words:
        name, mark, place = word.partition("=")
        encoder, _, pooling = place.rpartition(":")
        if not encoder or Path(place).is_dir():
            encoder, pooling = place, ""
        if not (mark and name and encoder):
            raise BadInput(
                f"--row {word}: expected NAME=FOLDER or NAME=HUB-ID, optionally followed by :POOLING"
            )
        if pooling:
            pooling_of(pooling, f"--row {word}")
        folder = Path(encoder)
        local = folder.is_dir() or encoder.startswith((".", "/", "~"))
        if not local and folder.parent != Path() and folder.parent.is_dir():
            names = [each.name for each in sorted(folder.parent.iterdir()) if each.is_dir()]
            raise BadInput(
                f"--row {word}: {folder.parent} has no folder {folder.name}{nearest(folder.name, names)}"
            )
        rows[name] = {"folder" if local else "hub": encoder}
        if pooling:
            rows[name]["pooling"] = pooling
    return rows


def chosen_study(arguments: Namespace, only: str = "") -> Study:
    """Load or compile the selected study.

    Args:
        arguments: the parsed arguments.
        only: compile only this item. Default: empty, the whole study.
    """
    config, file = chosen_config(arguments, own=True)
    return load_or_compile(config, arguments.workflow, file, only)
