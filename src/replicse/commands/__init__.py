"""The verbs of the command line: each function adds its arguments to a parser and returns the action."""

import json
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

Action = Callable[[Namespace], int | None]
WIDTH = 120  # columns of what goes to no terminal
__all__ = ["Action", "ArgumentParser", "Namespace", "coloured", "json_mapping", "print_json", "room"]


def json_mapping(text: str) -> dict[str, Any]:
    """Return the mapping of a JSON argument; argparse refuses anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def print_json(document: object) -> None:
    """Print what a program reads."""
    print(json.dumps(document, indent=1, ensure_ascii=False))


def room(otherwise: int = WIDTH) -> int:
    """Return how many columns the terminal has that is printed to; for a file or a pipe what is given."""
    return shutil.get_terminal_size((otherwise, 0)).columns if sys.stdout.isatty() else otherwise


def coloured() -> bool:
    """Return whether what is printed goes to a terminal that may show colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
