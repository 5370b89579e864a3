"""The verb `init`: create a workspace, a paper or a plug-in."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from pathlib import Path

from replicse.errors import BadInput, nearest
from replicse.files import write_text
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.plugins import check_module
from replicse.registry.poolings import PoolingParameters
from replicse.registry.registry import current
from replicse.registry.suites import OTHERS
from replicse.registry.terms import TermParameters
from replicse.spec.config import SHIPPED, use_all_plugins
from replicse.spec.papers import PAPER_KEY
from replicse.workspace import PACKAGE, workflow_folder

SKELETONS = PACKAGE / "skeletons"
# For each kind of plug-in: the use in a file, and a function to get the existing names.
EXTENSIONS: dict[str, tuple[str, Callable[[], Iterable[str]]]] = {
    "term": ("in a recipe, objective: - term: NAME", TermParameters.known),
    "augmentation": ("in a view, augment: name: NAME", AugmentationParameters.known),
    "pooling": ("in a recipe, pooling: train: NAME", PoolingParameters.known),
    "suite": ("in a column, metric_path: NAME/mean_cosine", lambda: (*current().suites, *OTHERS)),
}
EXTENSION_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# Skeletons are stored without the dot, because git and GitHub would use the dotted files. Code is stored as .txt:
# it is not valid Python until the placeholders are replaced.
HIDDEN = {"gitignore": ".gitignore", "github": ".github"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = (
        "example:\n  replicse init my-study\n  replicse init paper mine\n  replicse init term my-loss"
    )
    kinds = ", ".join(["paper", *EXTENSIONS])
    parser.add_argument(
        "folder",
        nargs="?",
        default=".",
        metavar="FOLDER or KIND",
        help=f"the folder of a workspace, or a KIND ({kinds}); default: this folder",
    )
    parser.add_argument(
        "name",
        nargs="?",
        help="name of a KIND; it can contain lower-case letters and digits, in plug-ins also hyphens",
    )


def run(arguments: Namespace) -> None:
    """Create a workspace, a paper, or a plug-in with a test.

    Existing files are not overwritten.

    Args:
        arguments: the parsed arguments; `folder` is a folder, or the kind of thing to create if `name` is given.
    """
    kind, name = arguments.folder, arguments.name
    if name is None:
        if kind in ("paper", *EXTENSIONS):
            raise BadInput(
                f"the name of the {kind} is missing; use replicse init {kind} NAME, or ./{kind} for a folder"
            )
        print(*write_skeleton("workspace", Path(kind)), sep="\n")
        print("next: replicse init paper KEY, or replicse plan to list items")
    elif kind == "paper":
        begin_paper(name)
    elif kind in EXTENSIONS:
        begin_plugin(kind, name)
    else:
        raise BadInput(f'unknown kind "{kind}"{nearest(kind, ("paper", *EXTENSIONS))}')


def begin_paper(name: str) -> None:
    """Create the folder of a paper from a skeleton.

    Args:
        name: the key of the paper, such as "simcse".

    Raises:
        BadInput: if the key is invalid or exists already.
    """
    if not PAPER_KEY.fullmatch(name):
        raise BadInput(f'"{name}" is not a valid key of a paper; use only lower-case letters and digits')
    if (workflow_folder() / "papers" / name).exists():
        raise BadInput(f'"{name}" is a paper of the package; choose another key')
    print(*write_skeleton("paper", Path("papers", name), {"KEY": name}), sep="\n")
    study = "" if SHIPPED.is_file() else "replicse init, "
    print(f"next: {study}replicse validate, then replicse run {name}")


def begin_plugin(kind: str, name: str) -> None:
    """Create a plug-in with a test, and add the plug-in to the config.

    Args:
        kind: a key of `EXTENSIONS`, such as "term".
        name: the registered name, such as "my-loss".

    Raises:
        BadInput: if the name is invalid or exists already.
    """
    if not EXTENSION_NAME.fullmatch(name):
        raise BadInput(
            f'"{name}" is not a valid name of a {kind}; use lower-case letters, digits and hyphens, a letter first'
        )
    module, words = name.replace("-", "_"), [part.capitalize() for part in name.split("-")]
    if iskeyword(module):
        raise BadInput(f'"{name}" is a keyword of Python and cannot name a module; choose another name')
    # Check all names before writing files.
    use_all_plugins()
    used, taken = EXTENSIONS[kind]
    if name in taken():
        raise BadInput(f'the {kind} "{name}" exists already; choose another name')
    check_module(Path("plugins", f"{module}.py"))
    meant = {"MODULE": module, "FUNCTION": module, "CLASS": "".join(words), "NAME": name}
    print(*write_skeleton(kind, Path(), meant), sep="\n")
    named = add_to_config(f"plugins/{module}.py")
    print(
        f"next: {named}pip install pytest, then pytest tests/test_{module}.py; {used.replace('NAME', name)}"
    )


def add_to_config(plugin: str) -> str:
    """Add a plug-in to config.yaml.

    Args:
        plugin: the path of the module.

    Returns:
        An empty string, or instructions if config.yaml does not exist or has no `plugins: [...]` in one line.
    """
    text = SHIPPED.read_text(encoding="utf-8") if SHIPPED.is_file() else ""
    line = re.search(r"^plugins: \[(.*?)\]( +(?=#))?", text, re.MULTILINE)
    if line:
        listed = f"plugins: [{', '.join(filter(None, [line[1], plugin]))}]{'  ' if line[2] else ''}"
        write_text(SHIPPED, text[: line.start()] + listed + text[line.end() :])
        return ""
    return f"add {plugin} to plugins in config.yaml; "


def write_skeleton(kind: str, folder: Path, words: Mapping[str, str] | None = None) -> list[Path]:
    """Write the files of a skeleton and replace the placeholders.

    Args:
        kind: the name of the skeleton.
        folder: the target folder.
        words: a dict from placeholder, a word in capitals, to replacement. Default: None, no placeholders.

    Returns:
        The list of written files.

    Raises:
        BadInput: if a file exists.
    """

    def fill(text: str) -> str:
        for word, replacement in (words or {}).items():
            text = text.replace(word, replacement)
        return text

    texts = {}
    for file in sorted(filter(Path.is_file, (SKELETONS / kind).rglob("*"))):
        first, *rest = file.relative_to(SKELETONS / kind).parts
        target = folder.joinpath(HIDDEN.get(first, first), *map(fill, rest))
        if target.suffix == ".txt":
            target = target.with_suffix("")
        texts[target] = fill(file.read_text(encoding="utf-8"))
    for file in texts:
        if file.exists():
            raise BadInput(f"{file}: exists already; choose another name, or move the file")
    for file, text in texts.items():
        write_text(file, text)
    return list(texts)
