"""Parser of tables of scores in text.

Formats are the output of SimCSE's evaluation.py, Markdown, LaTeX, and text separated by tabs, commas or spaces.
"""

import re
from collections.abc import Iterator
from typing import Any

from replicse.judge.values.result_scores import task_of
from replicse.registry.suites import TRANSFER_TASKS

MODE = re.compile(r"-+ (dev|test|fasttest) -+")
SEPARATOR = re.compile(r"(?<!\\)[|&]|\t")
COMMENT, LINE_END = re.compile(r"(?<!\\)%.*"), re.compile(r"\\\\.*")
COLOURS = re.compile(r"\\(cell|row|column)color(\[[^]]*\])?\{[^}]*\}")
BLANK = ("", "-", "--", "---", "–", "—", "n/a", "na", "nan", "none")
# A number, optionally with a standard deviation and footnote marks.
NUMBER = re.compile(
    r"(?P<number>[-+−]?\d+(?:\.\d+)?(?:e-?\d+)?)\s*%?"
    r"\s*(?:[_^({\[]*\s*(?:±|\+/-|\+-)\s*\d*\.?\d+[)}\]]*|\(\s*\d*\.?\d+\s*\))?"
    r"[\s^_{}]*[†‡§¶*∗⋆★♠♣♥♦♭♮♯¹²³⁰⁴-⁹\s]*(?:\^\d)?"
)


def table_scores(text: str) -> Iterator[tuple[str, Any]]:
    """Yield place and value of each cell below the name of a task.

    A table is a line of tasks followed by lines of numbers. The value of an empty cell is None; if a cell cannot be
    parsed, its value is a string. SimCSE prints the mode, such as `test`, above a table. Without a mode, a table with
    `STS12` is of test sets.

    Args:
        text: the content of a file.
    """
    mode, tasks = "", list[str]()
    for line in map(str.strip, text.splitlines()):
        stated = MODE.fullmatch(line)
        if stated:
            mode = stated[1]
        cells = _cells(line)
        header = list(map(task_of, map(_plain, cells))) if len(cells) > 1 else []
        if sum(map(bool, header)) > 1:
            tasks = header
            mode = mode or ("test" if "STS12" in header else "")
        elif len(cells) == len(tasks):
            row = {task: cell for task, cell in zip(tasks, cells, strict=True) if task}
            yield from _row_scores(row, mode)


def _cells(line: str) -> list[str]:
    """Split a line of a table into cells."""
    if "&" in line:
        line = COMMENT.sub("", line)
    bare = LINE_END.sub("", line).strip("| \t")
    if SEPARATOR.search(bare):
        return SEPARATOR.split(bare)
    if "," in bare:
        return bare.split(",")
    return bare.split()


def _row_scores(row: dict[str, str], mode: str) -> Iterator[tuple[str, Any]]:
    """Yield the scores of a line.

    A line without numbers, such as a rule, is skipped.
    """
    plain = {task: _plain(cell) for task, cell in row.items()}
    numbers = {}
    for task, cell in plain.items():
        number = _number(cell)
        if number is not None:
            numbers[task] = number
    if not numbers:
        return
    is_percent = max(map(abs, numbers.values())) > 1
    for task, cell in plain.items():
        value: Any = row[task].strip()
        if cell.casefold() in BLANK:
            value = None
        if task in numbers:
            number = numbers[task]
            if is_percent:
                number /= 100
            if task in TRANSFER_TASKS:
                number *= 100
            value = number or "0.00, not run"
        yield f"{task}/{mode}", value


def _plain(cell: str) -> str:
    """Return a cell without the commands of LaTeX and the marks of Markdown."""
    if re.search(r"[\\{}$]", cell):
        from pylatexenc.latex2text import LatexNodes2Text  # imported only for LaTeX

        cell = LatexNodes2Text().latex_to_text(COLOURS.sub("", cell))
    return re.sub(r"</?[a-z]+>", "", cell).strip(" *_`~\t")


def _number(cell: str) -> float | None:
    match = NUMBER.fullmatch(cell)
    if match is None:
        return None
    return float(match["number"].replace("−", "-"))
