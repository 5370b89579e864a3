"""Plain tables of text, such as verdict counts and symbols."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from replicse.judge.report.report_types import JudgedItem
from replicse.show.content.cells import MEANINGS, SYMBOLS

# A function that formats an entry for a column, by the column's heading.
Columns = dict[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Sheet:
    """A plain table of text, such as verdict counts, claims or provenance."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, title: str, entries: Iterable[object], columns: Columns, note: str = "") -> Self:
        """Create a sheet with one row for each entry.

        Args:
            title: Title of the sheet.
            entries: Objects that the functions of `columns` accept.
            columns: Functions that return a column's text for an entry, by heading. A column without text is omitted.
            note: Text below the sheet.
        """
        entries = list(entries)
        kept = {}
        for heading, text in columns.items():
            texts = [text(entry) for entry in entries]
            if any(texts) or not entries:
                kept[heading] = texts
        rows = zip(*kept.values(), strict=True) if kept else [()] * len(entries)
        return cls(title, tuple(kept), tuple(rows), note)

    def __post_init__(self) -> None:
        width = len(self.header)
        uneven = next((row for row in self.rows if len(row) != width), None)
        if uneven is not None:
            raise ValueError(f"sheet {self.title!r}: row {uneven} has {len(uneven)} fields; expected {width}")

    @cached_property
    def numeric(self) -> set[int]:
        """Return the indices of the columns that contain only numbers.

        Cached, because pages use it for each field.
        """
        columns = list(zip(*self.rows, strict=True))
        return {place for place, texts in enumerate(columns) if all(map(_is_number, filter(None, texts)))}


def verdict_counts(items: Iterable[JudgedItem]) -> Counter[str]:
    """Count the cells of items by the verdict that they show.

    Quoted cells count as quoted.
    """
    return sum((Counter(item.verdicts) for item in items), Counter())


def counts_sheet(papers: Sequence[tuple[str, Sequence[JudgedItem]]]) -> Sheet:
    """Count cells by verdict, with a row for each paper and one for all."""
    counts = {name: verdict_counts(items) for name, items in papers}
    counts["all"] = sum(counts.values(), Counter())
    names = [name for name in SYMBOLS if counts["all"][name]]
    header = ("Paper", *(f"{SYMBOLS[name]} {name}" for name in names), "cells")
    rows = []
    for paper, count in counts.items():
        numbers = [str(count[name]) for name in names]
        rows.append((paper, *numbers, str(count.total())))
    return Sheet("Cells by verdict", header, tuple(rows) if names else ())


def legend() -> Sheet:
    """Return the meanings of all symbols."""
    rows = [(symbol, name, MEANINGS[name]) for name, symbol in SYMBOLS.items()]
    star = (
        "*",
        "borrowed spread",
        "The interval rests on a published spread, pooled with that of our seeds.",
    )
    return Sheet("Symbols", ("", "Verdict", "Meaning"), (*rows, star))


def _is_number(text: str) -> bool:
    return text.translate(str.maketrans("", "", ",.%+−")).isdigit()
