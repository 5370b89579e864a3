"""What verbs print: lines for a person that fit the terminal, or JSON for a program."""

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from replicse.printable import several

WIDTH = 80  # columns of what goes to no terminal
# A command in a sentence: verb, options with their values, items, settings and placeholders; a line of Python.
COMMAND = re.compile(
    r"replicse [a-z]+(?: (?:--[a-z-]+(?: [^\s;,)]+)?|[^\s;,)]*[/=][^\s;,)]*|[A-Z]+\b))+|python -c '[^']*'"
)
SCREEN = 23  # lines of an answer: those of a terminal of 24 but for the prompt below it


def json_mapping(text: str) -> dict[str, Any]:
    """Return the mapping of a JSON argument; argparse refuses anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def add_all_argument(parser: ArgumentParser) -> None:
    """Add the argument that lifts the limit of a screen; `on_a_screen` reads it."""
    parser.add_argument("--all", action="store_true", help="every line, not only what fits a screen")


def command(arguments: Namespace, *more: str, verb: str = "", without: Sequence[str] = ()) -> str:
    """Return the command that was typed, `without` some of its words and with more, or as that of another verb."""
    typed, *words = arguments.typed
    left = [word for word in words if word not in ("--all", "--json", *without)]
    return shlex.join(["replicse", verb or typed, *left, *more])


def on_a_screen(
    arguments: Namespace,
    head: Iterable[str],
    parts: Iterable[Sequence[str]],
    what: str,
    foot: Iterable[str] = (),
    short: bool = False,
) -> Iterator[str]:
    """Yield head, parts and foot; without --all as many complete parts as a screen holds, and what shows the others.

    `what` names one part; where parts are `short` the last line says what shows all of them.
    """
    above, below = list(wrapped(head)), list(wrapped(foot))
    blocks = [list(wrapped(part)) for part in parts]
    short = short and not arguments.all
    room, shown = SCREEN - len(above) - len(below) - short, len(blocks)
    if not arguments.all and sum(map(len, blocks)) > room:
        fits = (count for count in range(shown) if sum(map(len, blocks[:count])) < room + short)
        shown = max(fits, default=0)
    yield from chain(above, *blocks[:shown], below)
    if shown < len(blocks):
        yield f"{several(len(blocks) - shown, f'more {what}')}: {command(arguments, '--all')}"
    elif short:
        yield f"all of it: {command(arguments, '--all')}"


def print_json(document: object, **units: str) -> None:
    """Print what a program reads; `units` name the unit of its numbers by key."""
    whole = {**document, "units": units} if isinstance(document, dict) and units else document
    print(json.dumps(whole, indent=1, ensure_ascii=False))


def answer(as_json: bool, document: object, lines: Iterable[str], **units: str) -> None:
    """Print what a program reads, or the lines for a person."""
    if as_json:
        print_json(document, **units)
    else:
        print("\n".join(lines))


def room() -> int:
    """Return how many columns a line may have: COLUMNS, else those of the terminal; 80 for a file or a pipe."""
    return shutil.get_terminal_size((WIDTH, 0)).columns


def coloured() -> bool:
    """Return whether the output goes to a terminal and NO_COLOR is not set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that fit the terminal, the rest of each indented below it; a command in one is not broken."""
    for line in lines:
        if len(line) <= room() or re.match(r"\s*replicse [a-z]+( |$)", line):
            yield line
            continue
        indent = line[: len(line) - len(line.lstrip())] + "    "
        whole = COMMAND.sub(lambda found: found[0].replace(" ", "\0"), line)
        for part in textwrap.wrap(
            whole, room(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ):
            yield part.replace("\0", " ")


def print_error(sentence: str) -> None:
    """Print a sentence to stderr: as one line, which a terminal gets in lines that fit it."""
    print("\n".join(wrapped([sentence])) if sys.stderr.isatty() else sentence, file=sys.stderr)


def shortened(line: str, width: int) -> str:
    """Return a line that fits a terminal."""
    return line if len(line) <= width else f"{line[: width - 3]}..."


def print_block(lines: Iterable[str], markdown: bool) -> None:
    """Print lines, as a block of code where they go into an issue."""
    fence = ["```"] if markdown else []
    print("\n".join([*fence, *lines, *fence]))
