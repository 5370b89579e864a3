"""The names of cells: `paper/item/row/column/metric`, the metric left out where a column has only one."""

from collections import Counter
from collections.abc import Iterator, Mapping

from replicse.errors import BadInput, nearest
from replicse.spec.cell_id import CellId
from replicse.spec.columns import AnyColumn
from replicse.spec.papers import Paper, printed_in
from replicse.spec.printed import Reported

ROWS = "/*/"


def is_measured(column: AnyColumn) -> bool:
    """Return whether a column has numbers per seed: a chosen hyper-parameter has none, nor has a text."""
    jobs = column.over.jobs if column.over else None
    return column.kind != "text" and not (jobs and jobs.statistic == "argmax")


class CellNames:
    """The cells of all papers by name: those of tables and figures, and numbers printed outside of both.

    With `chosen`, hyper-parameters that a score chose have names too.
    """

    def __init__(self, papers: Mapping[str, Paper], chosen: bool = False) -> None:
        self.papers = papers
        self._cells: dict[str, CellId] = {}
        self._names: dict[CellId, str] = {}
        cells = [cell for paper in papers.values() for cell in _cells_of(paper, chosen)]
        metrics = Counter(shorts := [cell.short for cell in cells])
        for cell, short in zip(cells, shorts, strict=True):
            full = str(cell)
            self._names[cell] = name = short if metrics[short] == 1 else full
            self._cells[full] = self._cells[name] = cell

    def cell(self, name: str) -> CellId:
        """Return the cell of a full name."""
        return self._cells[name]

    def name(self, cell: CellId) -> str:
        """Return the shortest full name of a cell."""
        return self._names[cell]

    def reported(self, name: str) -> Reported | None:
        """Return what is printed in the cell of a full name."""
        return printed_in(self.papers, self._cells[name])

    def words(self, cell: CellId, home: str = "") -> str:
        """Return a cell in a reader's words."""
        return words(self.papers, cell, home)

    def spelt_out(self, text: str, home: str) -> str:
        """Return a text with every name of a cell in a reader's words, in brackets."""
        for name in sorted(filter(text.__contains__, self._cells), key=len, reverse=True):
            text = text.replace(name, f"[{self.words(self._cells[name], home)}]")
        return text

    def full_names(self, name: str, home: str, location: str) -> tuple[str, ...]:
        """Return the full names that a name stands for; BadInput names the nearest one where there is none.

        A name may leave out its paper, which is then `home`: an item of it goes before a paper of that key. A `*` in
        the place of the row stands for every row with a printed number, or for every row where the column has none in
        print (a figure without numbers).
        """
        first = name.partition("/")[0]
        own = home in self.papers and first in self.papers[home].items
        full = name if first in self.papers and not own else f"{home}/{name}"
        item, starred, rest = full.partition(ROWS)
        if starred:
            same = [
                cell
                for cell in self._names
                if cell.item == item and rest in (cell.column, f"{cell.column}/{cell.metric}")
            ]
            every = tuple(map(self.name, same))
            names = tuple(filter(self._printed, every)) or every
        else:
            names = (self.name(self._cells[full]),) if full in self._cells else ()
        if not names:
            raise BadInput(f'{location}: no cell "{name}" holds a number{self._nearest(full)}')
        return names

    def _printed(self, name: str) -> bool:
        reported = self.reported(name)
        return reported is not None and reported.number is not None

    def _nearest(self, name: str) -> str:
        """Return what a misspelt name may mean: a cell of its item, or else an item."""
        item = "/".join(name.split("/")[:2])
        cells = [cell for cell in self._cells if cell.startswith(f"{item}/")]
        return nearest(name, cells) if cells else nearest(item, {cell.item for cell in self._names})


def words(papers: Mapping[str, Paper], cell: CellId, home: str = "") -> str:
    """Return a cell in a reader's words: its paper unless that is `home`, its place, row and column."""
    item, printed = papers[cell.paper].items.get(cell.item_name), printed_in(papers, cell)
    said = [] if cell.paper == home else [papers[cell.paper].about.cited]
    place = item.place_of(cell) if item else None
    if item is None or place is None:
        return ", ".join([*said, printed.source if printed else cell.item_name])
    row, column = place
    said.append((printed.source if printed else item.place).partition(";")[0])
    twice = sum(other.label == row.label for other in item.rows) > 1
    said.append((row.label or row.id).lstrip("* ") + (f" ({row.group})" if twice and row.group else ""))
    several = sum(other.id == column.id for other in item.columns) > 1
    said.append(column.label + (f" {column.metric}" if several else ""))
    return ", ".join(said)


def _cells_of(paper: Paper, chosen: bool) -> Iterator[CellId]:
    for item in paper.items.values():
        columns = [
            column for column in item.columns if is_measured(column) or (chosen and column.kind != "text")
        ]
        yield from (item.cell_id(row, column) for row in item.rows for column in columns)
    yield from (
        cell for cell in paper.reported if cell.item_name not in paper.items and cell.metric != "text"
    )
