"""The values of a cell: the printed number, or our numbers by seed."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from replicse.judge.verdicts.table import CellResult, ItemResult, SeedValue
from replicse.spec.cell_id import CellId
from replicse.spec.printed import Reported


@dataclass(frozen=True)
class Reading:
    """The values of a cell by seed, None if a value is missing.

    All cells have the same order of seeds. By default, a reading has no values: the cell is missing.

    Attributes:
        values: the values.
        seedless: whether the values do not depend on a seed (a printed number, a baseline).
        half_digit: half a unit of the last printed digit.
        runs: the encoders and their values; empty for a printed number.
        failure: why values are missing.
    """

    values: tuple[float | None, ...] = ()
    seedless: bool = False
    half_digit: float = 0.0
    runs: tuple[str, ...] = ()
    failure: str = ""

    @property
    def missing(self) -> bool:
        """Return whether a value is missing or not finite."""
        return not self.values or any(value is None or not math.isfinite(value) for value in self.values)


def printed_reading(reported: Reported | None) -> Reading:
    """Return a printed number as a reading.

    The reading is missing if no number is printed.
    """
    if reported is None or reported.number is None:
        return Reading()
    return Reading((reported.number.value,), True, reported.number.half_digit)


class OurCells:
    """The cells of several items by id.

    Cells that are not in a result are missing. By default, the study has a single seed, and a single encoder may depend
    on it.

    Args:
        results: the results of the items.
        seeds: the number of seeds of the study. If a cell of a study with several seeds has a single encoder, it does
            not depend on a seed. Default: 1.
    """

    def __init__(self, results: Iterable[ItemResult], seeds: int = 1) -> None:
        self._seeds = seeds
        self._cells = {name: cell for result in results for name, cell in result.by_id.items()}

    def cell(self, name: CellId) -> CellResult | None:
        """Return a cell; None if it is not in any result."""
        return self._cells.get(name)

    def reading(self, name: CellId) -> Reading:
        """Return our numbers of a cell.

        A failed cell is missing, even if some of its runs succeeded.
        """
        cell = self.cell(name)
        if cell is None:
            return Reading()
        if cell.verdict == "failed":
            return Reading(failure=cell.reason)
        lone = len(cell.encoders) == len(cell.values) == 1 < self._seeds
        return Reading(seed_numbers(cell), cell.seedless or lone, runs=runs_read(cell))


def seed_numbers(cell: CellResult) -> tuple[float | None, ...]:
    """Return the number of each seed, None if it is missing."""
    return tuple(map(_number_or_none, cell.values))


def _number_or_none(each: SeedValue) -> float | None:
    return each.value if isinstance(each.value, float) else None


def runs_read(cell: CellResult) -> tuple[str, ...]:
    """Return encoders, metric and values of a cell.

    Two cells are the same number if these are equal.
    """
    if not cell.encoders:
        return ()
    return (*cell.encoders, cell.metric_path, *map(str, seed_numbers(cell)))
