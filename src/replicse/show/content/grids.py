"""Tables before they are rendered: columns of cells, and the lines of the body."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from replicse.judge.verdicts.table import RowHead
from replicse.show.content.cells import Shown
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.tables import OWN

# With more columns, a cell is stacked on two lines; with fewer, its verdict is written in words.
WRITTEN_OUT = 2
Kind = Literal["label", "result", "prose"]


@dataclass(frozen=True)
class GridCell:
    """A cell with its facts, (name, value) pairs, and its address as a link target.

    `indent` and `mark`, the letter of a footnote, are used only for row labels.
    """

    shown: Shown
    facts: tuple[tuple[str, str], ...] = ()
    address: str = ""
    indent: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a grid, with a cell for each line.

    `kind` chooses how the column is rendered: a `label` names the row and is repeated in every panel, a `result` shows
    the parts of a cell, `prose` wraps. `id` is the column's id in the paper's YAML file. `average` marks an average
    over tasks, `others` the column with other people's measurements of the column before it.
    """

    heading: str
    kind: Kind
    cells: tuple[GridCell, ...]
    id: str = ""
    average: bool = False
    others: bool = False

    def longest(self, part: str, stacked: bool = False) -> str:
        """Return the longest text of a part of the cells.

        Args:
            part: A field of Shown; `wide` compares each line of the wide details.
            stacked: Whether cells are stacked; then details with a line of their own are ignored.

        Returns:
            The longest text, or "" if no cell has the part.
        """
        shown = [cell.shown for cell in self.cells]
        if part == "wide":
            return max((text for each in shown for text in each.wide), key=len, default="")
        if stacked and part in ("delta", "spread"):
            shown = [each for each in shown if not each.wide]
        return max((getattr(each, part) for each in shown), key=len, default="")


@dataclass(frozen=True)
class GridLine:
    """A row under one protocol; `indent` marks another protocol of the row above."""

    row: RowHead
    protocol: str = AS_DESCRIBED
    rule: bool = False
    indent: bool = False

    @property
    def label(self) -> str:
        """Return the name of the row, with its protocol if it is not the described one."""
        if self.protocol == AS_DESCRIBED:
            return self.row.label
        return self.protocol if self.indent else f"{self.row.label} ({self.protocol})"


@dataclass(frozen=True)
class Heading:
    """The paper's heading of a block of rows; `rule` draws a line above it."""

    text: str
    rule: bool = True


@dataclass(frozen=True)
class Grid:
    """A table that any format can render.

    `columns` start with the labels. `footnotes` are (mark, text) pairs of the marked labels, and `caption` names the
    item and the scale.
    """

    columns: tuple[Column, ...]
    body: tuple[GridLine | Heading, ...]
    footnotes: tuple[tuple[str, str], ...] = ()
    caption: str = ""

    @property
    def results(self) -> list[Column]:
        """Return all columns except the labels."""
        return [column for column in self.columns if column.kind != "label"]

    @property
    def lines(self) -> list[GridLine]:
        """Return the entries of the body that have cells, without the headings."""
        return [entry for entry in self.body if isinstance(entry, GridLine)]

    @property
    def rows(self) -> Iterator[tuple[GridLine | Heading, list[tuple[Column, GridCell]]]]:
        """Yield each entry of the body with its (column, cell) pairs; a heading has an empty list."""
        cells = zip(*(column.cells for column in self.columns), strict=True)
        for entry in self.body:
            here = () if isinstance(entry, Heading) else next(cells)
            yield entry, list(zip(self.columns, here, strict=False))

    @property
    def stacked(self) -> bool:
        """Return whether there are so many columns that cells are stacked on two lines."""
        return sum(not column.others for column in self.results) > WRITTEN_OUT


def with_numbers(grid: Grid) -> Grid:
    """Remove the rows without a reproduced number, or return the whole grid if no row has one."""
    lines = list(enumerate(grid.lines))
    rows = {line.row.id for place, line in lines if _has_number(grid, place)}
    if not rows:
        return grid
    kept = [place for place, line in lines if line.row.id in rows]
    body: list[GridLine | Heading] = []
    # Go backwards, because a heading is kept if a row below it is kept.
    for entry in reversed(grid.body):
        if isinstance(entry, GridLine):
            body += [entry] * (entry.row.id in rows)
        elif body and isinstance(body[-1], GridLine):
            body.append(entry)
    columns = []
    for column in grid.columns:
        cells = tuple(column.cells[place] for place in kept)
        columns.append(replace(column, cells=cells))
    return replace(grid, columns=tuple(columns), body=tuple(reversed(body)))


def own_rows_first(grid: Grid) -> Grid:
    """Return a grid whose first rows are those that a person added to the paper's table."""
    lines = grid.lines
    order = sorted(range(len(lines)), key=lambda place: lines[place].row.group != OWN)
    if order == list(range(len(lines))):
        return grid
    own = [entry for entry in grid.body if _is_own(entry)]
    others = [entry for entry in grid.body if not _is_own(entry)]
    body = [replace(own[0], rule=False), *own[1:], replace(others[0], rule=True), *others[1:]]
    columns = []
    for column in grid.columns:
        columns.append(replace(column, cells=tuple(column.cells[place] for place in order)))
    return replace(grid, columns=tuple(columns), body=tuple(body))


def _is_own(entry: GridLine | Heading) -> bool:
    return entry.text == OWN if isinstance(entry, Heading) else entry.row.group == OWN


def _has_number(grid: Grid, line: int) -> bool:
    return any(column.cells[line].shown.reproduced for column in grid.results)


def panels(grid: Grid, most: int) -> list[Grid]:
    """Split a grid into panels of at most `most` columns each, not counting the labels.

    The panels are as equal in size as possible, and each begins with the labels.
    """
    results = grid.results
    labels = [column for column in grid.columns if column.kind == "label"]
    count = max(1, math.ceil(len(results) / max(1, most)))
    size = max(1, math.ceil(len(results) / count))
    starts = range(0, max(1, len(results)), size)
    return [replace(grid, columns=(*labels, *results[start : start + size])) for start in starts]
