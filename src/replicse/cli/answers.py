"""What verbs print: lines for a person that fit the terminal, or JSON for a program."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

WIDTH = 80  # columns of what goes to no terminal


def json_mapping(text: str) -> dict[str, Any]:
    """Return the mapping of a JSON argument; argparse refuses anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


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
    """Yield lines that fit the terminal, the rest of each indented below it; a line that is a command stays one."""
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())] + "    "
        yield from (
            textwrap.wrap(
                line, room(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            if len(line) > room() and not line.lstrip().startswith("replicse ")
            else [line]
        )


def shortened(line: str, width: int) -> str:
    """Return a line that fits a terminal."""
    return line if len(line) <= width else f"{line[: width - 3]}..."


def print_block(lines: Iterable[str], markdown: bool) -> None:
    """Print lines, as a block of code where they go into an issue."""
    fence = ["```"] if markdown else []
    print("\n".join([*fence, *lines, *fence]))
