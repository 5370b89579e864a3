"""The tasks of MTEB by category: the 56 English ones of Muennighoff et al. (2023), and all of the library on texts.

The `mteb` library calls the 56 "MTEB(eng, v1)" and holds the commit of each task; its version is pinned in turn.
Importing it takes seconds, and torch. So tasks.txt lists the names and categories of all its tasks, which a test
compares with it. The 56 are above the blank line, each with the megabytes of its texts by the library's statistics.
"""

from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path

# How the reason of an average begins that lacks a task: no failure of its own.
LACKS_PART = "a part is missing"
# What the evaluation says of a task whose data are not there, and the report reads: no failure of a run.
NOT_LOCAL = "not among the data sets of a local data root"


@cache
def categories() -> dict[str, str]:
    """Return the category of each task of the library on texts alone, by name."""
    return {name: category for name, category, *_ in map(str.split, filter(None, _lines()))}


def text_bytes(names: Iterable[str]) -> int | None:
    """Return how many bytes the texts of tasks have; None if one is not of the 56."""
    megabytes = {name: int(size[0]) for name, _, *size in map(str.split, filter(None, _lines())) if size}
    wanted = set(names)
    return sum(megabytes[name] for name in wanted) * 1_000_000 if wanted <= megabytes.keys() else None


def _lines() -> list[str]:
    return (Path(__file__).parent / "tasks.txt").read_text(encoding="utf-8").splitlines()


def _english() -> dict[str, tuple[str, ...]]:
    """Return the names of the 56 by category."""
    tasks: dict[str, tuple[str, ...]] = {}
    for name, category, _ in map(str.split, takewhile(bool, _lines())):
        tasks[category] = (*tasks.get(category, ()), name)
    return tasks


MTEB_TASKS = _english()
MTEB_NAMES = tuple(name for names in MTEB_TASKS.values() for name in names)
