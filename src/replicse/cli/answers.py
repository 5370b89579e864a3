"""Print answers as lines for people or as JSON for programs."""

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

WIDTH = 80  # columns if the output is not a terminal
# A command in a sentence (verb, options with values, items, settings, placeholders), or a line of Python.
COMMAND = re.compile(
    r"replicse [a-z]+(?: (?:--[a-z-]+(?: [^\s;,)]+)?|[^\s;,)]*[/=][^\s;,)]*|[A-Z]+\b))+|python -c '[^']*'"
)
SCREEN = 23  # lines of an answer; a terminal of 24 lines also shows the prompt


def json_mapping(text: str) -> dict[str, Any]:
    """Parse a JSON object; argparse reports the ValueError for anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def add_all_argument(parser: ArgumentParser) -> None:
    """Add --all, which `on_a_screen` reads."""
    parser.add_argument("--all", action="store_true", help="every line, not only what fits a screen")


def command(arguments: Namespace, *more: str, verb: str = "", without: Sequence[str] = ()) -> str:
    """Return the typed command, changed.

    Args:
        arguments: The parsed arguments, with the typed words.
        more: Words to append.
        verb: Another verb; default: the typed one.
        without: Words to remove; --all and --json are always removed.
    """
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
    """Yield the lines of an answer, as many as fit on a screen.

    Only complete parts are shown; --all shows everything.

    Args:
        arguments: The parsed arguments.
        head: Lines before the parts.
        parts: The lines of each part.
        what: Name of one part, for the line that says how many are omitted.
        foot: Lines after the parts.
        short: Whether the parts are shortened; then the last line names the command that shows them in full.
    """
    above, below = list(wrapped(head)), list(wrapped(foot))
    blocks = [list(wrapped(part)) for part in parts]
    short = short and not arguments.all
    room, shown = SCREEN - len(above) - len(below) - short, len(blocks)
    if not arguments.all and sum(map(len, blocks)) > room:
        fits = (count for count in range(shown) if sum(map(len, blocks[:count])) < room + short)
        shown = max(fits, default=0)
    if blocks and not shown:
        # The first part alone is longer than the screen: show its beginning.
        lines = list(chain.from_iterable(blocks))
        beginning = lines[: max(0, room - 1)]
        yield from chain(above, beginning, below)
        yield f"{several(len(lines) - len(beginning), 'more line')}: {command(arguments, '--all')}"
        return
    yield from chain(above, *blocks[:shown], below)
    if shown < len(blocks):
        yield f"{several(len(blocks) - shown, f'more {what}')}: {command(arguments, '--all')}"
    elif short:
        yield f"all of it: {command(arguments, '--all')}"


def print_json(document: object, **units: str) -> None:
    """Print a document as JSON; `units` are the units of its numbers by key."""
    whole = {**document, "units": units} if isinstance(document, dict) and units else document
    print(json.dumps(whole, indent=1, ensure_ascii=False))


def answer(as_json: bool, document: object, lines: Iterable[str], **units: str) -> None:
    """Print a document as JSON, or lines for people."""
    if as_json:
        print_json(document, **units)
    else:
        print("\n".join(lines))


def room() -> int:
    """Return the width of lines.

    It is COLUMNS, the width of the terminal, or 80 for a file or pipe.
    """
    return shutil.get_terminal_size((WIDTH, 0)).columns


def coloured() -> bool:
    """Return whether output is colored: a terminal without NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Wrap lines to the terminal with indented continuations.

    Commands are not broken.
    """
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
    """Print a sentence to stderr, wrapped if stderr is a terminal."""
    print("\n".join(wrapped([sentence])) if sys.stderr.isatty() else sentence, file=sys.stderr)


def shortened(line: str, width: int) -> str:
    """Shorten a line to a width with an ellipsis."""
    return line if len(line) <= width else f"{line[: width - 3]}..."


def print_block(lines: Iterable[str], markdown: bool) -> None:
    """Print lines, as a code block if they are for an issue."""
    fence = ["```"] if markdown else []
    print("\n".join([*fence, *lines, *fence]))
