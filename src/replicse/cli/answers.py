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
# A command in a sentence (verb, options with values, items, settings, placeholders), or Python code after `python -c`.
COMMAND = re.compile(
    r"replicse [a-z]+(?: (?:--[a-z-]+(?: [^\s;,)]+)?|[^\s;,)]*[/=][^\s;,)]*|[A-Z]+\b))+|python -c '[^']*'"
)
SCREEN = 23  # lines of an answer; the last of a terminal's 24 lines is for the prompt


def json_mapping(text: str) -> dict[str, Any]:
    """Parse a JSON object into a dict.

    Args:
        text: a string such as '{"pooling": "mean"}'.

    Raises:
        ValueError: if the string is not a JSON object; argparse turns this into an error message.
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def add_all_argument(parser: ArgumentParser) -> None:
    """Add the option --all, which `on_a_screen` uses."""
    parser.add_argument("--all", action="store_true", help="print the full output; default: at most a screen")


def command(arguments: Namespace, *more: str, verb: str = "", without: Sequence[str] = ()) -> str:
    """Return a variation of the typed command.

    Args:
        arguments: the parsed arguments, with the typed command as a list of words.
        more: words to append.
        verb: the verb to use. Default: the verb that was typed.
        without: words to remove, in addition to --all and --json.

    Returns:
        A string that can be copied into a shell.
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
    """Yield as many lines of an answer as fit on a screen.

    A part is shown completely or not at all. The default is one screen; if --all is given, everything is shown.

    Args:
        arguments: the parsed arguments.
        head: lines before the parts.
        parts: a list of lines for each part.
        what: a noun for one part, used in the line with the number of omitted parts.
        foot: lines after the parts. Default: empty.
        short: whether the parts are shortened. If true, the last line contains the command that prints the full text.
            Default: False.
    """
    above, below = list(wrapped(head)), list(wrapped(foot))
    blocks = [list(wrapped(part)) for part in parts]
    short = short and not arguments.all
    room, shown = SCREEN - len(above) - len(below) - short, len(blocks)
    if not arguments.all and sum(map(len, blocks)) > room:
        fits = (count for count in range(shown) if sum(map(len, blocks[:count])) < room + short)
        shown = max(fits, default=0)
    if blocks and not shown:
        # Even the first part does not fit, so show the first lines of it.
        lines = list(chain.from_iterable(blocks))
        beginning = lines[: max(0, room - 1)]
        yield from chain(above, beginning, below)
        yield f"{several(len(lines) - len(beginning), 'more line')}: {command(arguments, '--all')}"
        return
    yield from chain(above, *blocks[:shown], below)
    if shown < len(blocks):
        yield f"{several(len(blocks) - shown, f'more {what}')}: {command(arguments, '--all')}"
    elif short:
        yield f"full output: {command(arguments, '--all')}"


def print_json(document: object, **units: str) -> None:
    """Print a document as JSON.

    Args:
        document: any value that can be converted to JSON.
        units: unit of the numbers by key, such as hours="hours"; added to a dict as `units`.
    """
    if isinstance(document, dict) and units:
        document = {**document, "units": units}
    print(json.dumps(document, indent=1, ensure_ascii=False))


def answer(as_json: bool, document: object, lines: Iterable[str], **units: str) -> None:
    """Print a document as JSON, or lines for people.

    Args:
        as_json: whether to print JSON.
        document: the content for programs.
        lines: the content for people. They are not computed if JSON is printed.
        units: unit of the numbers by key.
    """
    if as_json:
        print_json(document, **units)
    else:
        print("\n".join(lines))


def room() -> int:
    """Return the maximum width of lines in characters.

    This is COLUMNS if it is set, else the width of the terminal. Default for a file or pipe: 80.
    """
    return shutil.get_terminal_size((WIDTH, 0)).columns


def coloured() -> bool:
    """Return whether to use colours: in a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Wrap lines to the width of the terminal and indent continuations.

    Commands are not broken, so that users can copy them.

    Args:
        lines: the lines to wrap.
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
    """Print an error message to stderr, wrapped if stderr is a terminal."""
    print("\n".join(wrapped([sentence])) if sys.stderr.isatty() else sentence, file=sys.stderr)


def shortened(line: str, width: int) -> str:
    """Shorten a line to a width in characters; add an ellipsis if it is cut."""
    return line if len(line) <= width else f"{line[: width - 3]}..."


def print_block(lines: Iterable[str], markdown: bool) -> None:
    """Print lines, as a Markdown code block if `markdown` is true."""
    text = "\n".join(lines)
    print(f"```\n{text}\n```" if markdown else text)
