"""The tasks of MTEB by category.

They are the 56 English tasks of Muennighoff et al. (2023), and all text tasks of the library. The `mteb`
library calls the 56 "MTEB(eng, v1)" and pins the commit of each task's dataset; this package pins the version
of the library. Importing the library takes seconds and needs torch, so tasks.txt lists the names and categories
of the tasks; a test compares the list with the library. The 56 are above the empty line, each with the
megabytes of the texts from the library's statistics.
"""

from collections.abc import Iterable
from functools import cache
from itertools import chain, takewhile
from pathlib import Path

# The first words of the reason of an average with a missing task, which is not a separate failure.
LACKS_PART = "a part is missing"
# The reason for a task without a local dataset; the report does not count it as a failed run.
NOT_LOCAL = "not among the data sets of a local data root"


@cache
def categories() -> dict[str, str]:
    """Return the category of each text task of the library by name."""
    return {fields[0]: fields[1] for fields in map(str.split, _lines()) if fields}


def text_bytes(names: Iterable[str]) -> int | None:
    """Return the bytes of the texts of tasks.

    Args:
        names: The names of tasks.

    Returns:
        Bytes; None if a task is not one of the 56.
    """
    megabytes = {fields[0]: int(fields[2]) for fields in map(str.split, _lines()) if len(fields) > 2}
    wanted = set(names)
    if not wanted <= megabytes.keys():
        return None
    return sum(megabytes[name] for name in wanted) * 1_000_000


def _lines() -> list[str]:
    return (Path(__file__).parent / "tasks.txt").read_text(encoding="utf-8").splitlines()


def _english() -> dict[str, tuple[str, ...]]:
    """Return the names of the 56 tasks by category."""
    tasks: dict[str, tuple[str, ...]] = {}
    for name, category, _ in map(str.split, takewhile(bool, _lines())):
        tasks[category] = (*tasks.get(category, ()), name)
    return tasks


MTEB_TASKS = _english()
MTEB_NAMES = tuple(chain.from_iterable(MTEB_TASKS.values()))
