"""Errors that a user can fix: one sentence with the place, the value and the remedy."""

import difflib
import textwrap
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

# What follows the known names of a kind, if a plug-in may add to them.
UNLISTED = "; a plug-in's own is known if plugins in config.yaml names its file"


class BadInput(Exception):
    """Something the user wrote or supplied is wrong; the command line exits with code 2."""


class MissingData(BadInput):
    """A file the study needs is not there; the sentence says which and how to get it."""


class Failed(Exception):
    """A step could not be done although its input was right; the command line exits with code 1."""


def one_line(error: Exception) -> str:
    """Return what another library's error says, on one line and cut; its class where it says nothing."""
    return " ".join(str(error).split())[:200] or type(error).__name__


@contextmanager
def refusing(
    problem: str, remedy: str = "", errors: type[Exception] | tuple[type[Exception], ...] = Exception
) -> Iterator[None]:
    """Raise BadInput where another library raises in the block: the problem, what the library says, and a remedy.

    Most libraries raise what they like for a broken file, so that no narrower class has all of it.
    """
    try:
        yield
    except BadInput:
        raise
    except errors as error:
        raise BadInput("; ".join(filter(None, [f"{problem} ({one_line(error)})", remedy]))) from None


def check_known(
    name: object, choices: Collection[str], problem: str, error: type[Exception] = BadInput
) -> None:
    """Raise the error, a problem with the nearest known name after it, where a name is not known."""
    if name not in choices:
        raise error(f"{problem}{nearest(name, choices)}")


def check_names(where: str, names: Iterable[str], choices: Collection[str]) -> None:
    """Raise BadInput, with its place and the nearest known one, for the first of some names that is not known."""
    for name in names:
        check_known(name, choices, f'{where} names "{name}"')


def nearest(name: object, choices: Iterable[str]) -> str:
    """Return '; did you mean "x"?' for the closest known name, or the list of known names."""
    names = sorted(choices)
    folded = {each.casefold(): each for each in names}
    word = name.casefold() if isinstance(name, str) else ""
    close = difflib.get_close_matches(word, folded, n=1, cutoff=0.65)
    if close:
        return f'; did you mean "{folded[close[0]]}"?'
    return f"; known: {textwrap.shorten(', '.join(names), 200, placeholder=' ...')}" if names else ""
