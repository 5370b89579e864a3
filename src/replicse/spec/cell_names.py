"""The names of cells: `paper/item/row/column/metric`.

The metric is omitted if a column has only one metric.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from replicse.errors import BadInput, nearest
from replicse.spec.cell_id import CellId
from replicse.spec.columns import AnyColumn
from replicse.spec.papers import Paper, printed_in
from replicse.spec.printed import Reported

ROWS = "/*/"


def is_measured(column: AnyColumn) -> bool:
    """Return whether a column has numbers per seed.

    Selected hyper-parameters and texts are not numbers per seed.

    Args:
        column: the column.
    """
    jobs = column.over.jobs if column.over else None
    return column.kind != "text" and not (jobs and jobs.statistic == "argmax")


class CellNames:
    """The cells of all papers by name.

    The cells are in tables, figures and the running text.

    Args:
        papers: a dict from keys to papers.
        chosen: whether to include hyper-parameters that a search selected. Default: False.
    """

    def __init__(self, papers: Mapping[str, Paper], chosen: bool = False) -> None:
        self.papers = papers
        self._cells: dict[str, CellId] = {}
        self._names: dict[CellId, str] = {}
        cells: list[CellId] = []
        for paper in papers.values():
            cells += _list_cells(paper, chosen)
        metrics = Counter(cell.short for cell in cells)
        for cell in cells:
            full, short = str(cell), cell.short
            name = short if metrics[short] == 1 else full
            self._names[cell] = name
            self._cells[full] = self._cells[name] = cell

    def cell(self, name: str) -> CellId:
        """Return the cell of a full name."""
        return self._cells[name]

    def name(self, cell: CellId) -> str:
        """Return the shortest full name of a cell."""
        return self._names[cell]

    def reported(self, name: str) -> Reported | None:
        """Return the reported number of a cell.

        Args:
            name: the full name of the cell.

        Returns:
            The reported number; None if the cell has no reported number.
        """
        return printed_in(self.papers, self._cells[name])

    def words(self, cell: CellId, home: str = "") -> str:
        """Return a description of a cell for readers.

        Args:
            cell: the cell.
            home: the key of the paper that is not named. Default: empty, the paper is named.
        """
        return words(self.papers, cell, home)

    def spelt_out(self, text: str, home: str) -> str:
        """Replace every name of a cell in a text by a description in brackets.

        Args:
            text: the text.
            home: the key of the paper that is not named.
        """
        for name in sorted(filter(text.__contains__, self._cells), key=len, reverse=True):
            text = text.replace(name, f"[{self.words(self._cells[name], home)}]")
        return text

    def full_names(self, name: str, home: str, location: str) -> tuple[str, ...]:
        """Return the full names of the cells of a name.

        A name without a paper means an item of `home`; an item has priority over a paper with the same key. A `*` as
        row means every row with a reported number, or every row if the column has no reported numbers (a figure).

        Args:
            name: the name.
            home: the key of the paper that uses the name.
            location: the location in error messages.

        Returns:
            The names; a single name unless the name contains `*`.

        Raises:
            BadInput: if no cell has the name; the error suggests the most similar name.
        """
        first = name.partition("/")[0]
        own = home in self.papers and first in self.papers[home].items
        full = name if first in self.papers and not own else f"{home}/{name}"
        item, starred, rest = full.partition(ROWS)
        names: tuple[str, ...] = ()
        if starred:
            every = []
            for cell, short in self._names.items():
                if cell.item == item and rest in (cell.column, f"{cell.column}/{cell.metric}"):
                    every.append(short)
            names = tuple(filter(self._is_reported, every)) or tuple(every)
        elif full in self._cells:
            names = (self.name(self._cells[full]),)
        if not names:
            raise BadInput(f'{location}: cell "{name}" does not have a number{self._nearest(full)}')
        return names

    def _is_reported(self, name: str) -> bool:
        reported = self.reported(name)
        return reported is not None and reported.number is not None

    def _nearest(self, name: str) -> str:
        """Suggest a cell of the item, or else an item, for an unknown name."""
        item = "/".join(name.split("/")[:2])
        cells = [cell for cell in self._cells if cell.startswith(f"{item}/")]
        if cells:
            return nearest(name, cells)
        return nearest(item, {cell.item for cell in self._names})


def words(papers: Mapping[str, Paper], cell: CellId, home: str = "") -> str:
    """Describe a cell for readers by place, row and column.

    Args:
        papers: a dict from keys to papers.
        cell: the cell.
        home: the key of the paper that is not named. Default: empty, the paper is named.
    """
    item, printed = papers[cell.paper].items.get(cell.item_name), printed_in(papers, cell)
    parts = [] if cell.paper == home else [papers[cell.paper].about.cited]
    place = item.place_of(cell) if item else None
    if item is None or place is None:
        return ", ".join([*parts, printed.source if printed else cell.item_name])
    row, column = place
    parts.append((printed.source if printed else item.place).partition(";")[0])
    label = (row.label or row.id).lstrip("* ")
    is_ambiguous = sum(other.label == row.label for other in item.rows) > 1
    if is_ambiguous and row.group:
        label += f" ({row.group})"
    parts.append(label)
    has_metrics = sum(other.id == column.id for other in item.columns) > 1
    parts.append(f"{column.label} {column.metric}" if has_metrics else column.label)
    return ", ".join(parts)


def _list_cells(paper: Paper, chosen: bool) -> Iterator[CellId]:
    """Yield the cells of a paper: of items, then of the running text."""
    for item in paper.items.values():
        for row in item.rows:
            for column in item.columns:
                if is_measured(column) or (chosen and column.kind != "text"):
                    yield item.cell_id(row, column)
    for cell in paper.reported:
        if cell.item_name not in paper.items and cell.metric != "text":
            yield cell
