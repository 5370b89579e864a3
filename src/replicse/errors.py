"""Errors that a user can fix: location, value and remedy in one sentence."""

import difflib
import os
import re
import textwrap
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

OUT_OF_MEMORY = re.compile(
    r"can.?t allocate memory|cannot allocate memory|failed to map segment", re.IGNORECASE
)
# Appended to a list of known names if a plug-in can add to them.
UNLISTED = "; names of a plug-in are known if plugins in config.yaml contains its file"


class BadInput(Exception):
    """The input is wrong, and the user can fix it; exit code 2.

    It is raised for mistakes in arguments, files and data. The message is one sentence with location, value
    and remedy.

    Examples:
        >>> try:
        ...     replicse.evaluate("bert-base-uncased", "stss", "data")
        ... except replicse.BadInput as error:
        ...     print(error)
        suite "stss" is unknown; did you mean "sts"?
    """


class MissingData(BadInput):
    """A required file does not exist; the message explains how to get it."""


class Failed(Exception):
    """A step failed although the input was right; exit code 1.

    For example, it is raised if a loss is not finite or an encoder gives all sentences the same vector.

    Examples:
        >>> try:
        ...     replicse.train("simcse/unsup", sentences, "bert-base-uncased", "runs/first")
        ... except replicse.Failed as error:
        ...     print(error)
    """


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error means that memory is exhausted.

    Args:
        error: An error from Python, from torch, or from loading a library.
    """
    # torch is not imported for the class of its error on a GPU.
    is_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return is_memory or bool(OUT_OF_MEMORY.search(str(error)))


def line_in(error: BaseException, folder: Path) -> str:
    """Return file and line of the last frame of an error in a folder.

    Args:
        error: An error that was raised.
        folder: A folder with code, or a file, such as a plug-in's.

    Returns:
        A string such as "plugins/hinge.py:12", relative to the working directory if it is inside; "" if no frame is
        in the folder.
    """
    frames = traceback.extract_tb(error.__traceback__)
    home = folder.resolve()
    inside = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(home)]
    return f"{relative_path(inside[-1].filename)}:{inside[-1].lineno}" if inside else ""


def relative_path(file: str) -> str:
    """Return a path relative to the working directory if it is inside."""
    inside = Path(file).is_relative_to(Path.cwd())
    return os.path.relpath(file) if inside else file


def one_line(error: Exception) -> str:
    """Return the message of an error on one line.

    Args:
        error: The error.

    Returns:
        At most 200 characters; the name of the class if there is no message.
    """
    if isinstance(error, KeyError):  # the message is only the key
        return f"unknown key {error}"
    return " ".join(str(error).split())[:200] or type(error).__name__


@contextmanager
def refusing(
    problem: str, remedy: str = "", errors: type[Exception] | tuple[type[Exception], ...] = Exception
) -> Iterator[None]:
    """Convert errors of another library in the block to BadInput.

    The message is the problem, the library's own message, and the remedy. Many libraries raise various
    exceptions for a broken file, so that no narrower class includes all of them. Lack of memory is not converted.

    Args:
        problem: The start of the message, with the file.
        remedy: The end of the message. Default: empty.
        errors: The exceptions to convert. Default: all.

    Raises:
        BadInput: If the block raises one of the exceptions.
    """
    try:
        yield
    except BadInput:
        raise
    except errors as error:
        if is_out_of_memory(error):
            raise
        raise BadInput("; ".join(filter(None, [f"{problem} ({one_line(error)})", remedy]))) from None


def check_known(
    name: object, choices: Collection[str], problem: str, error: type[Exception] = BadInput
) -> None:
    """Raise an error with the nearest known name if a name is unknown.

    The default error is for a name that a user can correct.

    Args:
        name: The name to check.
        choices: The known names.
        problem: The start of the message.
        error: The class of the error. Default: BadInput.
    """
    if name not in choices:
        raise error(f"{problem}{nearest(name, choices)}")


def check_names(where: str, names: Iterable[str], choices: Collection[str]) -> None:
    """Check that all names are known.

    Args:
        where: The location in the message.
        names: The names to check.
        choices: The known names.

    Raises:
        BadInput: If a name is unknown. The message suggests the nearest known name.
    """
    for name in names:
        check_known(name, choices, f'{where} names "{name}"')


def nearest(name: object, choices: Iterable[str]) -> str:
    """Suggest the nearest known name, for the end of a message.

    Args:
        name: The unknown name.
        choices: The known names.

    Returns:
        A string such as '; did you mean "x"?'; the known names if none is similar.
    """
    names = sorted(choices)
    folded = {each.casefold(): each for each in names}
    word = name.casefold() if isinstance(name, str) else ""
    close = difflib.get_close_matches(word, folded, n=1, cutoff=0.65)
    if close:
        return f'; did you mean "{folded[close[0]]}"?'
    return f"; known: {textwrap.shorten(', '.join(names), 200, placeholder=' ...')}" if names else ""
