"""The verbs that begin something of one's own: a workspace, and in it a paper."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from replicse.commands import Action
from replicse.errors import BadInput
from replicse.files import write_text
from replicse.study.paper.papers import PAPER_KEY
from replicse.workspace import PACKAGE

SKELETONS = PACKAGE / "skeletons"
HIDDEN = {"gitignore": ".gitignore", "github": ".github"}  # kept without the dot: tools read the dotted ones


def init_verb(parser: ArgumentParser) -> Action:
    """Write a workspace: config, Snakefile, README, a check for continuous integration; nothing is overwritten."""
    parser.epilog = "example:\n  replicse init my-study"
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="default: this folder")

    def action(arguments: Namespace) -> None:
        for file in write_skeleton("workspace", arguments.folder):
            print(file)
        print("next: replicse run, or replicse new paper KEY")

    return action


def new_verb(parser: ArgumentParser) -> Action:
    """Write the skeleton of a paper of one's own into papers/KEY, each file commented; nothing is overwritten."""
    parser.epilog = "example:\n  replicse new paper mine"
    parser.add_argument("kind", choices=["paper"], help="what is begun")
    parser.add_argument("name", help="its key: small letters and digits")

    def action(arguments: Namespace) -> None:
        if not PAPER_KEY.fullmatch(arguments.name):
            raise BadInput(f'"{arguments.name}" is no key of a paper; use small letters and digits only')
        for file in write_skeleton("paper", Path("papers", arguments.name), {"KEY": arguments.name}):
            print(file)
        print(f"next: replicse validate, then replicse run {arguments.name}")

    return action


def write_skeleton(kind: str, folder: Path, words: Mapping[str, str] | None = None) -> list[Path]:
    """Write the files of a skeleton, words in capitals replaced, and return them; BadInput where one is there."""
    texts = {}
    for file in sorted(filter(Path.is_file, (SKELETONS / kind).rglob("*"))):
        first, *rest = file.relative_to(SKELETONS / kind).parts
        text = file.read_text(encoding="utf-8")
        for word, meant in (words or {}).items():
            text = text.replace(word, meant)
        texts[folder.joinpath(HIDDEN.get(first, first), *rest)] = text
    there = next((file for file in texts if file.exists()), None)
    if there:
        raise BadInput(f"{there}: is there already; choose another name, or move it away")
    for file, text in texts.items():
        write_text(file, text)
    return list(texts)
