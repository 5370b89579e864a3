"""Tables of scores as text: of SimCSE's evaluation.py, Markdown, LaTeX, and with tabs, commas or blanks."""

import re
from collections.abc import Iterator
from typing import Any

from replicse.judge.result_scores import task_of
from replicse.registry.suites import TRANSFER_TASKS

MODE = re.compile(r"-+ (dev|test|fasttest) -+")
SEPARATOR = re.compile(r"(?<!\\)[|&]|\t")
COMMENT, LINE_END = re.compile(r"(?<!\\)%.*"), re.compile(r"\\\\.*")
COLOURS = re.compile(r"\\(cell|row|column)color(\[[^]]*\])?\{[^}]*\}")
BLANK = ("", "-", "--", "---", "–", "—", "n/a", "na", "nan", "none")
# A number, perhaps with its spread and with marks of footnotes.
NUMBER = re.compile(
    r"(?P<number>[-+−]?\d+(?:\.\d+)?(?:e-?\d+)?)\s*%?"
    r"\s*(?:[_^({\[]*\s*(?:±|\+/-|\+-)\s*\d*\.?\d+[)}\]]*|\(\s*\d*\.?\d+\s*\))?"
    r"[\s^_{}]*[†‡§¶*∗⋆★♠♣♥♦♭♮♯¹²³⁰⁴-⁹\s]*(?:\^\d)?"
)


def table_scores(text: str) -> Iterator[tuple[str, Any]]:
    """Yield place and value of each cell below the name of a task: a line of tasks above lines of numbers.

    A value is the text of a cell that cannot be read, or None for a blank one. Above a table SimCSE prints its mode,
    which `STS12` tells too.
    """
    mode, tasks = "", list[str]()
    for line in map(str.strip, text.splitlines()):
        if stated := MODE.fullmatch(line):
            mode = stated[1]
        cells = _cells(line)
        named = [task_of(_plain(cell)) for cell in cells] if len(cells) > 1 else []
        if sum(map(bool, named)) > 1:
            tasks, mode = named, mode or ("test" if "STS12" in named else "")
        elif len(cells) == len(tasks):
            row = {task: cell for task, cell in zip(tasks, cells, strict=True) if task}
            yield from _row_scores(row, mode)


def _cells(line: str) -> list[str]:
    bare = LINE_END.sub("", COMMENT.sub("", line) if "&" in line else line).strip("| \t")
    if SEPARATOR.search(bare):
        return SEPARATOR.split(bare)
    return bare.split(",") if "," in bare else bare.split()


def _row_scores(row: dict[str, str], mode: str) -> Iterator[tuple[str, Any]]:
    """Yield the scores of a line; nothing of a line without numbers, such as a rule."""
    plain = {task: _plain(cell) for task, cell in row.items()}
    numbers = {task: number for task, cell in plain.items() if (number := _number(cell)) is not None}
    percent = max(map(abs, numbers.values()), default=0) > 1
    for task, cell in plain.items() if numbers else ():
        value: Any = None if cell.casefold() in BLANK else row[task].strip()
        if task in numbers:
            share = numbers[task] / 100 if percent else numbers[task]
            value = (100 * share if task in TRANSFER_TASKS else share) or "0.00, not run"
        yield f"{task}/{mode}", value


def _plain(cell: str) -> str:
    """Return a cell without the commands of LaTeX and the marks of Markdown."""
    if re.search(r"[\\{}$]", cell):
        from pylatexenc.latex2text import LatexNodes2Text  # imported only for LaTeX

        cell = LatexNodes2Text().latex_to_text(COLOURS.sub("", cell))
    return re.sub(r"</?[a-z]+>", "", cell).strip(" *_`~\t")


def _number(cell: str) -> float | None:
    match = NUMBER.fullmatch(cell)
    return float(match["number"].replace("−", "-")) if match else None
