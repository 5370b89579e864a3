"""Tables that every format can render: columns of cells and lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from replicse.judge.verdicts.table import RowHead
from replicse.show.content.cells import Shown
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.tables import OWN

# Cells of tables with more columns are stacked on two lines; other cells contain the verdict in words.
WRITTEN_OUT = 2
Kind = Literal["label", "result", "prose"]


@dataclass(frozen=True)
class GridCell:
    """A cell of a grid.

    Attributes:
        shown: The formatted parts.
        facts: Pairs of name and value for a tooltip. Default: ().
        address: The cell as a link target. Default: "".
        indent: Whether a row label is indented. Default: False.
        mark: The letter of a row label's footnote. Default: "".
    """

    shown: Shown
    facts: tuple[tuple[str, str], ...] = ()
    address: str = ""
    indent: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a grid, with a cell for each line.

    Attributes:
        heading: The heading.
        kind: `label` for the names of rows, which every panel repeats; `result` for cells with aligned parts; `prose`
            for text that wraps.
        cells: The cells, one for each line.
        id: The id of the column in the paper's YAML file. Default: "".
        average: Whether the column is an average over tasks. Default: False.
        others: Whether the column contains measurements by others for the column to its left. Default: False.
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
            part: An attribute of Shown; `wide` compares each line of the wide details.
            stacked: Whether cells are stacked; wide details are then ignored. Default: False.

        Returns:
            The longest text, or "" if no cell has the part.
        """
        texts: list[str] = []
        for cell in self.cells:
            if part == "wide":
                texts += cell.shown.wide
            elif not (stacked and cell.shown.wide and part in ("delta", "spread")):
                texts.append(getattr(cell.shown, part))
        return max(texts, key=len, default="")


@dataclass(frozen=True)
class GridLine:
    """A row under one protocol.

    Attributes:
        row: The row.
        protocol: The name of the protocol. Default: as described.
        rule: Whether there is a rule above the line. Default: False.
        indent: Whether the line is another protocol of the row above. Default: False.
    """

    row: RowHead
    protocol: str = AS_DESCRIBED
    rule: bool = False
    indent: bool = False

    @property
    def label(self) -> str:
        """Return the name of the row, with the protocol if it differs."""
        if self.protocol == AS_DESCRIBED:
            return self.row.label
        if self.indent:
            return self.protocol
        return f"{self.row.label} ({self.protocol})"


@dataclass(frozen=True)
class Heading:
    """The heading of a group of rows, by default with a rule above it."""

    text: str
    rule: bool = True


@dataclass(frozen=True)
class Grid:
    """A table that every format can render.

    Attributes:
        columns: The columns, labels first.
        body: The lines and headings.
        footnotes: Pairs of mark and text. Default: ().
        caption: The item, the seeds and the scale. Default: "".
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
        """Return the entries of the body without the headings."""
        return [entry for entry in self.body if isinstance(entry, GridLine)]

    @property
    def rows(self) -> Iterator[tuple[GridLine | Heading, list[tuple[Column, GridCell]]]]:
        """Yield each entry of the body with a list of (column, cell).

        The list of a heading is empty.
        """
        cells = zip(*(column.cells for column in self.columns), strict=True)
        for entry in self.body:
            here = () if isinstance(entry, Heading) else next(cells)
            yield entry, list(zip(self.columns, here, strict=False))

    @property
    def stacked(self) -> bool:
        """Return whether cells are stacked, because there are many columns."""
        return sum(not column.others for column in self.results) > WRITTEN_OUT


def with_numbers(grid: Grid) -> Grid:
    """Remove the rows without a reproduced number.

    If no row has a reproduced number, the grid is unchanged.
    """
    rows = set()
    for place, line in enumerate(grid.lines):
        if _has_number(grid, place):
            rows.add(line.row.id)
    if not rows:
        return grid
    places = [place for place, line in enumerate(grid.lines) if line.row.id in rows]
    body: list[GridLine | Heading] = []
    # Iterate in reverse, because a heading is kept if a row below it is kept.
    for entry in reversed(grid.body):
        if isinstance(entry, GridLine):
            body += [entry] * (entry.row.id in rows)
        elif body and isinstance(body[-1], GridLine):
            body.append(entry)
    return replace(grid, columns=_select_lines(grid, places), body=tuple(reversed(body)))


def own_rows_first(grid: Grid) -> Grid:
    """Move the rows that a user added to the paper's table to the top."""
    lines = grid.lines
    order = sorted(range(len(lines)), key=lambda place: lines[place].row.group != OWN)
    if order == list(range(len(lines))):
        return grid
    own: list[GridLine | Heading] = []
    others: list[GridLine | Heading] = []
    for entry in grid.body:
        if _is_own(entry):
            own.append(entry)
        else:
            others.append(entry)
    body = [replace(own[0], rule=False), *own[1:], replace(others[0], rule=True), *others[1:]]
    return replace(grid, columns=_select_lines(grid, order), body=tuple(body))


def _select_lines(grid: Grid, places: Sequence[int]) -> tuple[Column, ...]:
    """Return the columns with the lines at some indices."""
    columns = []
    for column in grid.columns:
        cells = [column.cells[place] for place in places]
        columns.append(replace(column, cells=tuple(cells)))
    return tuple(columns)


def _is_own(entry: GridLine | Heading) -> bool:
    if isinstance(entry, Heading):
        return entry.text == OWN
    return entry.row.group == OWN


def _has_number(grid: Grid, line: int) -> bool:
    return any(column.cells[line].shown.reproduced for column in grid.results)


def panels(grid: Grid, most: int) -> list[Grid]:
    """Split a grid into panels of similar size.

    Args:
        grid: The grid.
        most: The maximum number of columns in a panel, without the labels.

    Returns:
        A list of grids that all contain the labels.
    """
    results = grid.results
    labels = [column for column in grid.columns if column.kind == "label"]
    count = max(1, math.ceil(len(results) / max(1, most)))
    size = max(1, math.ceil(len(results) / count))
    parts = []
    for start in range(0, max(1, len(results)), size):
        parts.append(replace(grid, columns=(*labels, *results[start : start + size])))
    return parts
