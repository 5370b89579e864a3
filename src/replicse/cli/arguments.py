"""Arguments that several verbs share, and the study that they select."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from replicse.compile.cache import load_or_compile
from replicse.compile.paths import Paths
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.judge.values.folder import study_folder
from replicse.registry.artefacts import CONFIG, DATA
from replicse.registry.poolings import pooling_of
from replicse.spec.config import (
    SHIPPED,
    by_paper,
    read_config,
)
from replicse.workspace import workflow_folder

MOST_SEEDS = 1000


def add_study_arguments(parser: ArgumentParser, example: str) -> None:
    """Add the arguments that select a study."""
    parser.epilog = f"example:\n  {example}"
    parser.add_argument(
        "--config", "--configfile", action="append", default=[], metavar="FILE",
        help="YAML merged over config.yaml, or KEY=VALUE; repeatable",
    )  # fmt: skip
    add_study_argument(parser)
    parser.add_argument("--scale", help="instead of the config's")
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="so many seeds, from 0, instead of the config's"
    )
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="everything, for a program")


def add_study_argument(parser: ArgumentParser) -> None:
    """Add --study, which names an existing study; `study_file` reads it."""
    text = "a committed study, or the folder or config.json of one that was begun"
    parser.add_argument("--study", help=text)


def add_workflow_argument(parser: ArgumentParser) -> None:
    """Add --workflow, the folder of papers and scales."""
    parser.add_argument(
        "--workflow",
        type=Path,
        metavar="FOLDER",
        default=workflow_folder(),
        help="default: $REPLICSE_WORKFLOW, workflow, the package's",
    )


def add_items_argument(parser: ArgumentParser) -> None:
    """Add the items to select; `chosen_config` reads them."""
    text = "paper/item or paper; default: all of the config, or your own"
    parser.add_argument("items", nargs="*", metavar="ITEM", help=text)


def study_file(name: str) -> Path:
    """Return the config file of a study.

    `name` is the file, its folder or a committed study's name.
    """
    file = Path(name)
    named = bool(file.suffix) and not file.is_dir()
    return file if named else study_folder(name) / CONFIG


def check_here(record: Path, paths: Paths) -> None:
    """Raise BadInput if a study was run in another folder."""
    was_run = record.name == CONFIG and record.with_name(DATA).exists()
    if was_run and record.resolve() != Path(paths.config).resolve():
        raise BadInput(f"{record}: not {paths.config} of this folder; start replicse where the study was run")


def chosen_config(arguments: Namespace, own: bool = False) -> tuple[dict[str, Any], str]:
    """Load the selected config.

    Args:
        arguments: The parsed arguments.
        own: Whether the default is the papers of this folder alone instead of all papers.

    Returns:
        The config, and the file to name in errors about it.
    """
    files, settings = config_layers(arguments)
    config = read_config(files, arguments.scale, arguments.seeds, settings)
    papers = own_papers(config, arguments) if own else {}
    return asked({**config, **papers}, arguments), str(files[-1])


def asked(config: dict[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Restrict a config to the items of the command line, if there are any."""
    items = getattr(arguments, "items", None)
    return {**config, "papers": by_paper(items)} if items else config


def own_papers(config: Mapping[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Return the papers of this folder as a config.

    Return {} if there are none, or if other papers are selected.
    """
    keys = [file.parent.name for file in sorted(Path().glob("papers/*/paper.yaml"))]
    named = arguments.config or arguments.study or config.get("papers") != "all"
    return {"papers": by_paper(keys)} if keys and not named else {}


def config_layers(arguments: Namespace) -> tuple[list[Path], dict[str, str]]:
    """Return the config files and the settings of --config."""
    if arguments.seeds is not None and not 1 <= arguments.seeds <= MOST_SEEDS:
        raise BadInput(f"--seeds is {arguments.seeds}; expected 1 to {MOST_SEEDS:,}")
    settings: dict[str, str] = {}
    for word in (word for word in arguments.config if "=" in word):
        key, text = word.split("=", 1)
        first, *inner = key.split(".")
        for name in reversed(inner):
            text = f"{{{name}: {text}}}"
        if inner and first in settings:  # two keys of one dict
            text = f"{settings[first].removesuffix('}')}, {text.removeprefix('{')}"
        settings[first] = text
    if rows := getattr(arguments, "row", None):
        own = own_rows(rows)
        if not arguments.item:
            raise BadInput("--row is for an item; name one, as paper/item")
        settings["rows"] = json.dumps({item.replace("_", "/", 1): own for item in arguments.item})
    files = [Path(word) for word in arguments.config if "=" not in word]
    layers = [SHIPPED, *(file for file in files if file != SHIPPED)]
    return [study_file(arguments.study)] if arguments.study else layers, settings


def own_rows(words: Iterable[str]) -> dict[str, dict[str, str]]:
    """Parse rows such as NAME=FOLDER or NAME=HUB-ID:POOLING."""
    rows: dict[str, dict[str, str]] = {}
    for word in words:
        name, mark, place = word.partition("=")
        encoder, _, pooling = place.rpartition(":")
        if not encoder or Path(place).is_dir():
            encoder, pooling = place, ""
        if not (mark and name and encoder):
            raise BadInput(
                f"--row {word}: expected NAME=FOLDER or NAME=HUB-ID, and perhaps :POOLING after it"
            )
        if pooling:
            pooling_of(pooling, f"--row {word}")
        local = Path(encoder).is_dir() or encoder.startswith((".", "/", "~"))
        rows[name] = {"folder" if local else "hub": encoder} | ({"pooling": pooling} if pooling else {})
    return rows


def chosen_study(arguments: Namespace, only: str = "") -> Study:
    """Load or compile the selected study.

    With `only`, a study that contains this item is enough.
    """
    config, file = chosen_config(arguments, own=True)
    return load_or_compile(config, arguments.workflow, file, only)
