"""The verbs of the command line: each function adds its arguments to a parser and returns the action."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

Action = Callable[[Namespace], int | None]
__all__ = ["Action", "ArgumentParser", "Namespace", "json_mapping"]


def json_mapping(text: str) -> dict[str, Any]:
    """Return the mapping of a JSON argument; argparse refuses anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value
