"""A cell of a compiled study."""

from dataclasses import dataclass
from itertools import chain

from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.columns import AnyColumn
from replicse.spec.printed import Reported
from replicse.spec.tables import Item, Row


@dataclass(frozen=True)
class Cell:
    """A number of an item under a protocol.

    Args:
        item: the item.
        row: the row.
        column: the column.
        metric_path: the path of the metric in evaluations; empty for derived and quoted cells.
        jobs: the encoders of each seed; several in a search.
        seeds: the seeds; (None,) if the encoder does not depend on a seed.
        reported: the reported number, or None.
        subtracted: the reported number that a difference subtracts. Default: None.
        protocol: the protocol. Default: as described.
        operands: the cells in the formula of a derived cell. Default: empty.
    """

    item: Item
    row: Row
    column: AnyColumn
    metric_path: str
    jobs: tuple[tuple[str, ...], ...]
    seeds: tuple[int | None, ...]
    reported: Reported | None
    subtracted: Reported | None = None
    protocol: str = AS_DESCRIBED
    operands: tuple["Cell", ...] = ()

    @property
    def id(self) -> CellId:
        """Return the name of the cell."""
        return self.item.cell_id(self.row, self.column, self.protocol)

    @property
    def is_search(self) -> bool:
        """Return whether the cell has several jobs for a seed."""
        return any(len(group) > 1 for group in self.jobs)

    @property
    def encoders(self) -> tuple[str, ...]:
        """Return the encoders of all jobs and seeds, without duplicates.

        A derived cell has the encoders of the operands.
        """
        names: dict[str, None] = {}
        for cell in self.operands or (self,):
            names.update(dict.fromkeys(chain.from_iterable(cell.jobs)))
        return tuple(names)
