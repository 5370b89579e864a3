"""The grid behind every rendered table: the paper's rows, groups and rules with cells as text."""

import math
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from replicse.report.content.cells import MEANINGS, SYMBOLS, Shown, show
from replicse.report.content.items import TEXT, Column, Item, Result, Row
from replicse.study.paper.protocols import AS_DESCRIBED

# Beyond this many columns a cell is stacked on two lines instead of written out with its verdict in words.
WRITTEN_OUT = 2


@dataclass(frozen=True)
class GridCell:
    """A cell and what a reader may ask about it: (name, value) pairs."""

    shown: Shown
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Line:
    """One row of cells: `indent` marks a further protocol of the row above, `mark` is a note's letter."""

    label: str
    cells: tuple[GridCell, ...]
    rule: bool = False
    indent: bool = False
    quoted: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Heading:
    """The heading that the paper prints above a block of rows; a rule is drawn above it."""

    text: str
    rule: bool = True


@dataclass(frozen=True)
class Grid:
    """A table ready for any format: `header` holds a label per column, `corner` names the rows.

    `prose` holds the places of the columns whose cells are sentences, which wrap.
    """

    header: tuple[str, ...]
    body: tuple[Line | Heading, ...]
    footnotes: tuple[str, ...] = ()
    corner: str = ""
    prose: frozenset[int] = frozenset()

    @property
    def lines(self) -> list[Line]:
        """Return the rows of cells without the headings."""
        return [entry for entry in self.body if isinstance(entry, Line)]

    @property
    def stacked(self) -> bool:
        """Return whether cells are stacked on two lines, because there are many columns."""
        return len(self.header) > WRITTEN_OUT

    def longest(self, part: str, column: int) -> str:
        """Return the longest `part` (a field of Shown) of a column's cells."""
        return max((getattr(line.cells[column].shown, part) for line in self.lines), key=len, default="")


@dataclass(frozen=True)
class Sheet:
    """A plain table of text, such as verdict counts, claims or provenance."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    numeric: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        width = len(self.header)
        uneven = next((row for row in self.rows if len(row) != width), None)
        if uneven is not None:
            raise ValueError(f"sheet {self.title!r}: row {uneven} has {len(uneven)} fields; expected {width}")
        numeric = {
            place
            for place in range(width)
            if self.rows and all(_is_number(row[place]) for row in self.rows if row[place])
        }
        object.__setattr__(self, "numeric", frozenset(numeric))


def grid_of(item: Item) -> Grid:
    """Return the grid of an item; a trajectory keeps its first and last step, its figure shows the rest."""
    columns = _columns(item)
    found = {(entry.row, entry.column, entry.metric, entry.protocol): entry for entry in item.results}
    protocols = [name for name in _protocols(item.results) if name not in item.variants]
    marks = _marks(item.rows)
    body: list[Line | Heading] = []
    group = ""
    for row in item.rows:
        if row.group and row.group != group:
            body.append(Heading(row.group, rule=bool(body)))
        ends_group = bool(group) and not row.group
        group = row.group
        for line in _lines(item, row, columns, protocols, found):
            mark = "" if line.indent else marks.get(row.id, "")
            body.append(replace(line, rule=line.rule or (ends_group and not line.indent), mark=mark))
    return Grid(
        header=tuple(_heading(item, column) for column in columns),
        body=tuple(body),
        footnotes=tuple(row.note for row in item.rows if row.note),
        prose=frozenset(place for place, column in enumerate(columns) if column.metric == TEXT),
    )


def panels(grid: Grid, most: int) -> list[Grid]:
    """Return the grid cut into runs of at most `most` columns, as even as can be; rows stay whole."""
    count = max(1, math.ceil(len(grid.header) / max(1, most)))
    size = math.ceil(len(grid.header) / count)
    return [_slice(grid, start, start + size) for start in range(0, max(1, len(grid.header)), max(1, size))]


def verdict_counts(items: Iterable[Item]) -> Counter[str]:
    """Return how many cells show each verdict; quoted cells are counted as such."""
    return Counter(
        cell.shown.verdict
        for item in items
        for line in full_grid(item).lines
        for cell in line.cells
        if cell.shown.verdict
    )


def full_grid(item: Item) -> Grid:
    """Return the grid with every column, also where `grid_of` would leave steps of a trajectory out."""
    return grid_of(replace(item, figure=""))


def counts_sheet(papers: Sequence[tuple[str, Sequence[Item]]]) -> Sheet:
    """Return the number of cells by verdict, one column per (paper, items) and one for all."""
    counts = [verdict_counts(items) for _, items in papers]
    columns = [*counts, sum(counts, Counter())]
    rows = [
        (f"{symbol} {name}", *(str(column[name]) for column in columns)) for name, symbol in SYMBOLS.items()
    ]
    total = ("cells", *(str(column.total()) for column in columns))
    return Sheet("Cells by verdict", ("Verdict", *(name for name, _ in papers), "all"), (*rows, total))


def legend() -> Sheet:
    """Return the meaning of every symbol."""
    rows = [(symbol, name, MEANINGS[name]) for name, symbol in SYMBOLS.items()]
    star = ("*", "borrowed spread", "Fewer than five seeds: the interval rests on a published spread.")
    return Sheet("Symbols", ("", "Verdict", "Meaning"), (*rows, star))


def _columns(item: Item) -> tuple[Column, ...]:
    if item.figure != "trajectory" or not item.columns:
        return item.columns
    ends = (item.columns[0].id, item.columns[-1].id)
    return tuple(column for column in item.columns if column.id in ends)


def _heading(item: Item, column: Column) -> str:
    twice = sum(other.id == column.id for other in item.columns) > 1
    label = f"{column.metric.rpartition('/')[2]}, {column.label}" if twice else column.label
    return f"{label} ↓" if column.better == "lower" else label


def _protocols(results: Iterable[Result]) -> list[str]:
    names = list(dict.fromkeys(result.protocol for result in results))
    return sorted(names, key=lambda name: name != AS_DESCRIBED)


def _marks(rows: Iterable[Row]) -> dict[str, str]:
    noted = [row.id for row in rows if row.note]
    return {row: _letter(place) for place, row in enumerate(noted)}


def _letter(place: int) -> str:
    """Return a, b, ... z, aa, ab, ...: the letter of a note."""
    letters = string.ascii_lowercase
    return (letters[place // 26 - 1] if place >= 26 else "") + letters[place % 26]


def marks_of(grid: Grid) -> list[tuple[str, str]]:
    """Return (letter, text) of the grid's notes on rows."""
    return [(_letter(place), text) for place, text in enumerate(grid.footnotes)]


def _lines(
    item: Item,
    row: Row,
    columns: Sequence[Column],
    protocols: Sequence[str],
    found: dict[tuple[str, str, str, str], Result],
) -> list[Line]:
    """Return the row under every protocol that has a cell of it; an empty row keeps one line."""
    lines: list[Line] = []
    for protocol in protocols:
        results = [found.get((row.id, column.id, column.metric, protocol)) for column in columns]
        if any(results):
            cells = tuple(
                _cell(item, row, column, result) for column, result in zip(columns, results, strict=True)
            )
            named = bool(lines) or protocol != AS_DESCRIBED
            label = protocol if lines else f"{row.label} ({protocol})" if named else row.label
            lines.append(Line(label, cells, row.rule and not lines, bool(lines), row.quoted))
    empty = Line(row.label, tuple(GridCell(Shown()) for _ in columns), row.rule, False, row.quoted)
    return lines or [empty]


def _cell(item: Item, row: Row, column: Column, result: Result | None) -> GridCell:
    shown = show(result, scale=item.scale, decimals=column.decimals, quoted=row.quoted)
    return GridCell(shown, _facts(item, shown, result) if result and shown.text else ())


def _facts(item: Item, shown: Shown, result: Result) -> tuple[tuple[str, str], ...]:
    place = result.source or item.place
    facts = {
        "verdict": shown.verdict,
        "because": result.reason if shown.verdict == result.verdict else "",
        "reported": f"{shown.reported} ({place})" if shown.reported and place else shown.reported,
    }
    if shown.verdict != "quoted":
        bounded = result.low is not None and result.high is not None
        facts |= {
            "reproduced": "" if result.reproduced is None else f"{result.reproduced:.6g}",
            "interval": f"{result.low:.6g} to {result.high:.6g}" if bounded else "",
            "over pairs": ""
            if result.pairs_low is None or result.pairs_high is None
            else f"{result.pairs_low:.2f} to {result.pairs_high:.2f}",
            "spread": "borrowed from a publication" if result.borrowed else "",
            "seeds": "" if result.n_seeds is None else str(result.n_seeds),
            "protocol": result.protocol,
            "encoders": ", ".join(result.encoders),
        }
    return tuple((name, value) for name, value in facts.items() if value)


def _slice(grid: Grid, start: int, stop: int) -> Grid:
    body = tuple(
        replace(entry, cells=entry.cells[start:stop]) if isinstance(entry, Line) else entry
        for entry in grid.body
    )
    prose = frozenset(place - start for place in grid.prose if start <= place < stop)
    return replace(grid, header=grid.header[start:stop], body=body, prose=prose)


def _is_number(text: str) -> bool:
    return text.translate(str.maketrans("", "", ",.%+−")).isdigit()
