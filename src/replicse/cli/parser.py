"""An argument parser whose help fits on a screen."""

import argparse
import textwrap
from collections.abc import Iterable, Iterator
from typing import NoReturn

from replicse.printable import columns

WIDTH = 80


class Parser(argparse.ArgumentParser):
    """An argument parser with compact help.

    Attributes:
        explained: whether the help describes the options of additional groups, not only lists them. Default: False.
    """

    explained = False

    def error(self, message: str) -> NoReturn:
        """Print an error about the arguments and exit.

        If the verb passes options to Snakemake, the message explains how.
        """
        if message.startswith("unrecognized arguments") and "further" in self._defaults:
            message += "; options of Snakemake must follow a lone --"
        super().error(message)

    def format_help(self) -> str:
        """Return usage, description, examples and arguments."""
        lines = textwrap.wrap(self.description or "", WIDTH)
        for example in (self.epilog or "").splitlines():
            lines += _example(example)
        lines += self._meanings()
        return self.format_usage() + "\n".join(lines) + "\n"

    def _meanings(self) -> Iterator[str]:
        """Yield a line for each argument, positional ones first."""
        first, second, *further = self._action_groups
        yield from _lines([*first._group_actions, *second._group_actions])
        for group in further:
            names = " ".join(each.option_strings[0].lstrip("-") for each in group._group_actions)
            yield f"{group.title}{'' if self.explained else ' (see --help --all)'}:"
            yield from _lines(group._group_actions) if self.explained else _wrapped(f"  {names}", "  ")


def _wrapped(text: str, below: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


def _lines(actions: Iterable[argparse.Action]) -> Iterator[str]:
    return columns(((f"  {_text(each)}", each.help or "") for each in actions), width=WIDTH)


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage line: required arguments, then [options]."""
    needed = [each for each in parser._actions if not each.option_strings or each.required]
    needed.sort(key=lambda each: not each.option_strings)
    return " ".join([parser.prog, *map(_text, needed), "[options]"])


def _text(action: argparse.Action) -> str:
    """Format an argument, for example `[ITEM ...]`, `--seeds N` or `--json`."""
    shown = action.metavar or action.dest.upper()
    value = " ".join(shown) if isinstance(shown, tuple) else shown
    if not action.option_strings:
        return {"*": f"[{value} ...]", "?": f"[{value}]"}.get(str(action.nargs), value)
    return ", ".join(action.option_strings) if action.nargs == 0 else f"{action.option_strings[0]} {value}"


def _example(line: str) -> list[str]:
    """Wrap an example with backslashes for a shell."""
    wrapped = _wrapped(line, "      ", WIDTH - 2)
    return [f"{part} \\" for part in wrapped[:-1]] + wrapped[-1:]
