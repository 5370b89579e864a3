"""What is in a cell: the printed number, or ours per seed out of the items' results."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from replicse.judge.table import CellResult, ItemResult
from replicse.spec.cell_id import CellId
from replicse.spec.printed import Reported


@dataclass(frozen=True)
class Reading:
    """What is in a cell: a value per seed, None where it is missing, all cells in one order of seeds.

    `seedless` says that it is no draw of a seed (a printed number, a baseline); `half_digit` is half a unit of its
    last printed digit; `runs` tells which encoders gave what, nothing in print; `failure` why there is no value.
    """

    values: tuple[float | None, ...] = ()
    seedless: bool = False
    half_digit: float = 0.0
    runs: tuple[str, ...] = ()
    failure: str = ""

    @property
    def missing(self) -> bool:
        """Return whether a value is not there or not finite."""
        return not self.values or any(value is None or not math.isfinite(value) for value in self.values)


def printed_reading(reported: Reported | None) -> Reading:
    """Return a printed number as a reading; an absent one is missing."""
    number = reported.number if reported else None
    return Reading((number.value,), True, number.half_digit) if number else Reading()


class OurCells:
    """The cells of items' results by their names; what no result holds is missing.

    `seeds` is how many seeds the study has: a lone encoder among several is no draw of them.
    """

    def __init__(self, results: Iterable[ItemResult], seeds: int = 1) -> None:
        self._seeds = seeds
        self._cells = {name: cell for result in results for name, cell in result.by_id.items()}

    def cell(self, name: CellId) -> CellResult | None:
        """Return a cell; None where no result holds it."""
        return self._cells.get(name)

    def reading(self, name: CellId) -> Reading:
        """Return our numbers in a cell; those of a cell that failed are missing, whatever survived."""
        cell = self.cell(name)
        if cell is None:
            return Reading()
        if cell.verdict == "failed":
            return Reading(failure=cell.reason)
        lone = len(cell.encoders) == len(cell.values) == 1 < self._seeds
        return Reading(numbers(cell), cell.seedless or lone, runs=runs_read(cell))


def numbers(cell: CellResult) -> tuple[float | None, ...]:
    """Return the number of each seed, None where it is missing."""
    return tuple(each.value if isinstance(each.value, float) else None for each in cell.values)


def runs_read(cell: CellResult) -> tuple[str, ...]:
    """Return which encoders a cell reads, where, and what they gave: equal for two cells that are one number."""
    return (*cell.encoders, cell.metric_path, *map(str, numbers(cell))) if cell.encoders else ()
