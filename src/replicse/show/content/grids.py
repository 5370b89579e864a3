"""A table before any format: columns of cells over the lines of a body."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from replicse.judge.table import RowHead
from replicse.show.content.cells import Shown
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.tables import OWN

# Beyond this many columns a cell is stacked on two lines instead of written out with its verdict in words.
WRITTEN_OUT = 2
Kind = Literal["label", "result", "prose"]


@dataclass(frozen=True)
class GridCell:
    """A cell and what a reader may ask about it: (name, value) pairs; `address` is where a link finds it.

    `indent` and `mark`, a note's letter, are of the name of a row.
    """

    shown: Shown
    facts: tuple[tuple[str, str], ...] = ()
    address: str = ""
    indent: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """One column of a grid: a cell for each of its lines, which formats draw by its `kind`.

    A `label` names the row and is in every panel, a `result` is drawn in its parts, `prose` wraps. `id` is that of the
    column in its paper's file, `average` says that it is one over tasks. `others` marks the column of what others
    measured of the cells in the column before it.
    """

    heading: str
    kind: Kind
    cells: tuple[GridCell, ...]
    id: str = ""
    average: bool = False
    others: bool = False

    def longest(self, part: str, stacked: bool = False) -> str:
        """Return the longest `part` (a field of Shown) of the cells; of `wide` the longest of its lines.

        Where cells are stacked, what is on a line of its own has no part in the others.
        """
        shown = [cell.shown for cell in self.cells]
        if part == "wide":
            return max((text for each in shown for text in each.wide), key=len, default="")
        if stacked and part in ("delta", "spread"):
            shown = [each for each in shown if not each.wide]
        return max((getattr(each, part) for each in shown), key=len, default="")


@dataclass(frozen=True)
class GridLine:
    """A row under one protocol; `indent` marks a further one of the row above."""

    row: RowHead
    protocol: str = AS_DESCRIBED
    rule: bool = False
    indent: bool = False

    @property
    def label(self) -> str:
        """Return the name of the row, with its protocol where that is not the paper's text."""
        if self.protocol == AS_DESCRIBED:
            return self.row.label
        return self.protocol if self.indent else f"{self.row.label} ({self.protocol})"


@dataclass(frozen=True)
class Heading:
    """The heading that the paper prints above a block of rows; a rule is drawn above it."""

    text: str
    rule: bool = True


@dataclass(frozen=True)
class Grid:
    """A table ready for any format: columns, the labels first, over the lines of a body.

    `footnotes` are (mark, text) of the labels with a mark; `caption` names item and scale.
    """

    columns: tuple[Column, ...]
    body: tuple[GridLine | Heading, ...]
    footnotes: tuple[tuple[str, str], ...] = ()
    caption: str = ""

    @property
    def results(self) -> list[Column]:
        """Return the columns apart from the labels."""
        return [column for column in self.columns if column.kind != "label"]

    @property
    def lines(self) -> list[GridLine]:
        """Return the entries of the body that have cells."""
        return [entry for entry in self.body if isinstance(entry, GridLine)]

    @property
    def rows(self) -> Iterator[tuple[GridLine | Heading, list[tuple[Column, GridCell]]]]:
        """Yield each entry of the body with its cells, each with its column; a heading has none."""
        cells = zip(*(column.cells for column in self.columns), strict=True)
        for entry in self.body:
            here = () if isinstance(entry, Heading) else next(cells)
            yield entry, list(zip(self.columns, here, strict=False))

    @property
    def stacked(self) -> bool:
        """Return whether cells are stacked on two lines, because there are many columns."""
        return sum(not column.others for column in self.results) > WRITTEN_OUT


def with_numbers(grid: Grid) -> Grid:
    """Return a grid without the rows that have no number of ours, or all of it if no row has one."""
    lines = list(enumerate(grid.lines))
    rows = {line.row.id for place, line in lines if _has_number(grid, place)}
    if not rows:
        return grid
    kept = [place for place, line in lines if line.row.id in rows]
    body: list[GridLine | Heading] = []
    # From the end: a heading is kept if a row below it is.
    for entry in reversed(grid.body):
        if isinstance(entry, GridLine):
            body += [entry] * (entry.row.id in rows)
        elif body and isinstance(body[-1], GridLine):
            body.append(entry)
    columns = (replace(column, cells=tuple(column.cells[place] for place in kept)) for column in grid.columns)
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
    """Return the grid cut into runs of at most `most` columns apart from the labels, as evenly as possible."""
    results = grid.results
    labels = [column for column in grid.columns if column.kind == "label"]
    count = max(1, math.ceil(len(results) / max(1, most)))
    size = max(1, math.ceil(len(results) / count))
    starts = range(0, max(1, len(results)), size)
    return [replace(grid, columns=(*labels, *results[start : start + size])) for start in starts]
