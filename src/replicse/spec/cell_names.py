"""The names of cells: `paper/item/row/column/metric`, the metric left out where a column has only one."""

from collections import Counter
from collections.abc import Iterator, Mapping

from replicse.errors import BadInput, nearest
from replicse.spec.columns import AnyColumn
from replicse.spec.counterparts import CellKey, printed_in
from replicse.spec.papers import Paper
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
        self._papers = papers
        self._keys: dict[str, CellKey] = {}
        self._names: dict[CellKey, str] = {}
        keys = [key for paper in papers.values() for key in _keys_of(paper, chosen)]
        metrics = Counter(key[:3] for key in keys)
        for key in keys:
            full, short = "/".join(key), "/".join(key[:3])
            self._keys[full] = key
            if metrics[key[:3]] == 1:
                self._keys[short] = key
            self._names[key] = short if metrics[key[:3]] == 1 else full

    def key(self, name: str) -> CellKey:
        """Return the key of a full name."""
        return self._keys[name]

    def name(self, key: CellKey) -> str:
        """Return the shortest full name of a cell."""
        return self._names[key]

    def reported(self, name: str) -> Reported | None:
        """Return what is printed in the cell of a full name."""
        return printed_in(self._papers, self._keys[name])

    def words(self, key: CellKey, home: str = "") -> str:
        """Return a cell in a reader's words."""
        return words(self._papers, key, home)

    def spelt_out(self, text: str, home: str) -> str:
        """Return a text with every name of a cell in a reader's words, in brackets."""
        for name in sorted(filter(text.__contains__, self._keys), key=len, reverse=True):
            text = text.replace(name, f"[{self.words(self._keys[name], home)}]")
        return text

    def full_names(self, name: str, home: str, where: str) -> tuple[str, ...]:
        """Return the full names that a name stands for; BadInput names the nearest one where there is none.

        A name may leave out its paper, which is then `home`: an item of it goes before a paper of that key. A `*` in
        the place of the row stands for every row with a printed number, or for every row where the column has none in
        print (a figure without numbers).
        """
        first = name.partition("/")[0]
        own = home in self._papers and first in self._papers[home].items
        full = name if first in self._papers and not own else f"{home}/{name}"
        item, starred, rest = full.partition(ROWS)
        if starred:
            same = [key for key in self._names if key[0] == item and rest in (key[2], "/".join(key[2:]))]
            every = tuple(map(self.name, same))
            names = tuple(filter(self._printed, every)) or every
        else:
            names = (self.name(self._keys[full]),) if full in self._keys else ()
        if not names:
            raise BadInput(f'{where}: no cell "{name}" holds a number{self._nearest(full)}')
        return names

    def _printed(self, name: str) -> bool:
        reported = self.reported(name)
        return reported is not None and reported.number is not None

    def _nearest(self, name: str) -> str:
        """Return what a misspelt name may mean: a cell of its item, or else an item."""
        item = "/".join(name.split("/")[:2])
        cells = [cell for cell in self._keys if cell.startswith(f"{item}/")]
        return nearest(name, cells) if cells else nearest(item, {key[0] for key in self._names})


def words(papers: Mapping[str, Paper], key: CellKey, home: str = "") -> str:
    """Return a cell in a reader's words: its paper unless that is `home`, its place, row and column."""
    paper, _, name = key[0].partition("/")
    item, printed = papers[paper].items.get(name), printed_in(papers, key)
    said = [] if paper == home else [papers[paper].about.cited]
    if item is None:
        return ", ".join([*said, printed.source if printed else name])
    row = next(row for row in item.rows if row.id == key[1])
    columns = [column for column in item.columns if column.id == key[2]]
    column = next(column for column in columns if column.metric == key[3])
    said.append((printed.source if printed else item.place).partition(";")[0])
    twice = sum(other.label == row.label for other in item.rows) > 1
    said.append((row.label or row.id).lstrip("* ") + (f" ({row.group})" if twice and row.group else ""))
    said.append(column.label + (f" {column.metric}" if len(columns) > 1 else ""))
    return ", ".join(said)


def _keys_of(paper: Paper, chosen: bool) -> Iterator[CellKey]:
    for item in paper.items.values():
        columns = [
            (column.id, column.metric)
            for column in item.columns
            if is_measured(column) or (chosen and column.kind != "text")
        ]
        yield from ((item.id, row.id, *column) for row in item.rows for column in columns)
    for name, row, column, metric in paper.reported:
        if name not in paper.items and metric != "text":
            yield f"{paper.key}/{name}", row, column, metric
