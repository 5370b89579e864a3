"""The verbs of the command line: each function adds its arguments to a parser and returns the action."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

Action = Callable[[Namespace], int | None]
__all__ = ["Action", "ArgumentParser", "Namespace"]
