"""Plain tables of text, such as verdict counts and symbols."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from replicse.judge.report.report_types import JudgedItem
from replicse.show.content.cells import MEANINGS, SYMBOLS

# A dict from the heading of a column to a function that formats an entry.
Columns = dict[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Sheet:
    """A plain table of strings, such as verdict counts or claims.

    Attributes:
        title: The title.
        header: The headings of the columns.
        rows: The rows, each with a string for every column.
        note: Text below the table in Markdown. Default: "".
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, title: str, entries: Iterable[object], columns: Columns, note: str = "") -> Self:
        """Create a sheet with one row for each entry.

        Args:
            title: The title.
            entries: Objects that the functions in `columns` can format.
            columns: A dict from headings to functions that format an entry. Empty columns are omitted.
            note: Text below the table. Default: "".
        """
        entries = list(entries)
        kept = {}
        for heading, text in columns.items():
            texts = list(map(text, entries))
            if any(texts) or not entries:
                kept[heading] = texts
        rows: list[tuple[str, ...]] = [()] * len(entries)
        if kept:
            rows = list(zip(*kept.values(), strict=True))
        return cls(title, tuple(kept), tuple(rows), note)

    def __post_init__(self) -> None:
        width = len(self.header)
        uneven = next((row for row in self.rows if len(row) != width), None)
        if uneven is not None:
            raise ValueError(f"sheet {self.title!r}: row {uneven} has {len(uneven)} fields; expected {width}")

    @cached_property
    def numeric(self) -> set[int]:
        """Return the indices of the columns that contain only numbers.

        The result is cached, because templates use it for each field.
        """
        found = set()
        for place, texts in enumerate(zip(*self.rows, strict=True)):
            if all(map(_is_number, filter(None, texts))):
                found.add(place)
        return found


def verdict_counts(items: Iterable[JudgedItem]) -> Counter[str]:
    """Count the cells of items by verdict; `quoted` is also a verdict."""
    return sum((Counter(item.verdicts) for item in items), Counter())


def counts_sheet(papers: Mapping[str, Sequence[JudgedItem]]) -> Sheet:
    """Create a sheet with the number of cells of each verdict.

    Args:
        papers: A dict from paper keys to lists of items.

    Returns:
        A sheet with a row for each paper and a row for all papers, or without rows if there are no cells.
    """
    counts = {name: verdict_counts(items) for name, items in papers.items()}
    counts["all"] = sum(counts.values(), Counter())
    names, headings = [], []
    for name, symbol in SYMBOLS.items():
        if counts["all"][name]:
            names.append(name)
            headings.append(f"{symbol} {name}")
    rows = []
    for paper, count in counts.items():
        numbers = [str(count[name]) for name in names]
        rows.append((paper, *numbers, str(count.total())))
    if not names:
        rows = []
    return Sheet("Cells by verdict", ("Paper", *headings, "cells"), tuple(rows))


def legend() -> Sheet:
    """Create a sheet with the meaning of each symbol."""
    rows = []
    for name, symbol in SYMBOLS.items():
        rows.append((symbol, name, MEANINGS[name]))
    rows.append(
        ("*", "borrowed spread", "The interval uses a published spread, pooled with the spread of our seeds.")
    )
    return Sheet("Symbols", ("", "Verdict", "Meaning"), tuple(rows))


def _is_number(text: str) -> bool:
    return text.translate(str.maketrans("", "", ",.%+−")).isdigit()
