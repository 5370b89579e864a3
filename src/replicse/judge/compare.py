"""Two results folders of the same runs, cell by cell: what another machine changes, in units of the seed spread.

DiffCSE's first author could not reproduce its numbers on a second machine (methods 6, pitfall 9).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from replicse.errors import BadInput
from replicse.judge.folder import results_in
from replicse.judge.machines import count_machines
from replicse.judge.statistics import mean_and_spread
from replicse.judge.table import CellResult, SeedValue
from replicse.judge.values import finite_numbers
from replicse.spec.cell_id import CellId

State = Literal["identical", "equal to rounding", "within spread", "beyond spread", "no spread", "missing"]
STATES: tuple[State, ...] = get_args(State)
HALF_DIGIT = 0.005  # two decimals are shown where no number is printed
SLACK = 1e-12  # decimal fractions are inexact in binary
Cells = dict[CellId, CellResult]
Pair = tuple[SeedValue, SeedValue]  # of one seed


@dataclass(frozen=True)
class Compared:
    """One cell in the seeds that both folders have of the same encoders; numbers are None where there is none.

    `a` and `b` are means over these seeds, `difference` is b less a, `largest` the largest difference of a seed,
    whatever its sign. `spread` is the standard deviation over the seeds inside the folders, or a published one
    (`borrowed`), and `spreads` the difference in units of it.
    """

    cell: str
    metric: str
    seeds: int
    a: float | None
    b: float | None
    difference: float | None
    largest: float | None
    spread: float | None
    borrowed: bool
    spreads: float | None
    state: State


@dataclass(frozen=True)
class Comparison:
    """All cells that two folders share, how many others there are, and runs, machines and packages of both.

    `other_runs` are cells of both folders that no seed's runs are the same of; `different` are the runs of both
    folders with a number that is not the same in both.
    """

    cells: tuple[Compared, ...]
    other_runs: tuple[str, ...]
    only_a: int
    only_b: int
    machines_a: tuple[str, ...]
    machines_b: tuple[str, ...]
    packages_a: tuple[str, ...]
    packages_b: tuple[str, ...]
    runs: int
    different: tuple[str, ...]
    runs_only_a: tuple[str, ...]
    runs_only_b: tuple[str, ...]

    @property
    def counts(self) -> dict[State, int]:
        """Return how many cells are in each state."""
        states = Counter(cell.state for cell in self.cells)
        return {state: states[state] for state in STATES}

    def plain(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"counts": self.counts, **asdict(self)}


def compare(a: Path, b: Path) -> Comparison:
    """Return the comparison of two results folders, from the items that each holds by its own record.

    Raises MissingData where a folder holds none, BadInput where an item is broken or none has the same runs in both.
    """
    first, second = _cells(a), _cells(b)
    common = [key for key in first if key in second]
    pairs = {key: _shared(first[key], second[key]) for key in common}
    compared = tuple(
        _compared(key, pairs[key], first[key], second[key])
        for key in common
        if any(each.value is not None for pair in pairs[key] for each in pair)
    )
    if not compared:
        raise BadInput(f"{a} and {b} share no cell of the same runs; name two results folders of one study")
    runs_a, runs_b = (
        {each.run for cell in cells.values() for each in cell.values} - {""} for cells in (first, second)
    )
    shared = (pair for each in pairs.values() for pair in _complete(each))
    different = {one.run for one, other in shared if one.value != other.value} - {""}
    return Comparison(
        cells=compared,
        other_runs=tuple(cell.short for cell in common if not pairs[cell]),
        only_a=len(first) - len(common),
        only_b=len(second) - len(common),
        machines_a=_machines(first),
        machines_b=_machines(second),
        packages_a=_most_first(first, lambda cell: cell.packages),
        packages_b=_most_first(second, lambda cell: cell.packages),
        runs=len(runs_a & runs_b),
        different=tuple(sorted(different)),
        runs_only_a=tuple(sorted(runs_a - runs_b)),
        runs_only_b=tuple(sorted(runs_b - runs_a)),
    )


def _cells(folder: Path) -> Cells:
    """Return the cells of a folder that have values, by name, the metric a path."""
    cells = (each for result in results_in(folder) for each in result.by_id.items())
    return {replace(name, metric=cell.metric_path): cell for name, cell in cells if cell.values}


def _most_first(cells: Cells, names: Callable[[CellResult], Iterable[str]]) -> tuple[str, ...]:
    """Return what some cells name, each of their values once, that of most values first."""
    counts = Counter(name for cell in cells.values() for _ in cell.values for name in names(cell))
    return tuple(name for name, _ in counts.most_common())


def _machines(cells: Cells) -> tuple[str, ...]:
    known = count_machines(machine for cell in cells.values() for machine in cell.machines)
    return _most_first(
        cells, lambda cell: {str(next(filter(made.fits, known))): None for made in cell.machines}
    )


def _shared(first: CellResult, second: CellResult) -> list[Pair]:
    """Return the values of the seeds that both have of the same encoders."""
    by_seed = {each.seed: each for each in second.values}
    pairs = [(each, by_seed[each.seed]) for each in first.values if each.seed in by_seed]
    return [(one, two) for one, two in pairs if (one.encoder, one.group) == (two.encoder, two.group)]


def _complete(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if all(each.value is not None for each in pair)]


def _compared(cell: CellId, pairs: Sequence[Pair], first: CellResult, second: CellResult) -> Compared:
    there = _complete(pairs)
    seeds, same = len(there), all(one.value == two.value for one, two in there)
    sides = [finite_numbers([each.value for each in side]) for side in zip(*there, strict=True)]
    if not there or min(map(len, sides)) < len(there):
        state: State = "missing" if len(there) < len(pairs) else "identical" if same else "no spread"
        return Compared(cell.short, cell.metric, seeds, None, None, None, None, None, False, None, state)
    differences = [two - one for one, two in zip(*sides, strict=True)]
    a, b = (mean_and_spread(side)[0] for side in sides)
    difference, largest = mean_and_spread(differences)[0], max(map(abs, differences))
    spread, borrowed = _spread(first, second)
    printed = first.reported.number if first.reported else None
    rounding = (printed.half_digit if printed else HALF_DIGIT) + SLACK * max(map(abs, (a, b)))
    if len(there) < len(pairs):
        state = "missing"
    elif same:
        state = "identical"
    elif largest <= rounding:
        state = "equal to rounding"
    elif spread is None:
        state = "no spread"
    else:
        state = "within spread" if abs(difference) <= spread else "beyond spread"
    spreads = difference / spread if spread else None
    return Compared(
        cell.short, cell.metric, seeds, a, b, difference, largest, spread, borrowed, spreads, state
    )


def _spread(first: CellResult, second: CellResult) -> tuple[float | None, bool]:
    """Return the standard deviation over the seeds inside two folders, pooled, else the published one.

    The second value says that it is published.
    """
    squares, degrees = 0.0, 0
    for side in (first, second):
        numbers = finite_numbers([each.value for each in side.values])
        spread = mean_and_spread(numbers)[1] if numbers else None
        if spread is not None:
            squares += (len(numbers) - 1) * spread**2
            degrees += len(numbers) - 1
    if degrees:
        return math.sqrt(squares / degrees), False
    published = first.published_sd or second.published_sd
    return published, published is not None
