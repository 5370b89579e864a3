"""Comparison of two results folders of the same runs, cell by cell.

Differences are in units of the standard deviation over seeds. Another machine changes numbers: DiffCSE's first author
could not reproduce its numbers on a second machine (methods 6, pitfall 9).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

from replicse.errors import BadInput
from replicse.judge.statistics.intervals import mean_and_spread
from replicse.judge.values.cell_values import finite_numbers
from replicse.judge.values.folder import results_in
from replicse.judge.values.machines import count_machines, matching_names
from replicse.judge.verdicts.table import CellResult, SeedValue
from replicse.spec.cell_id import CellId

State = Literal["identical", "equal to rounding", "within spread", "beyond spread", "no spread", "missing"]
STATES: tuple[State, ...] = get_args(State)
HALF_DIGIT = 0.005  # two decimals are shown if no number is printed
SLACK = 1e-12  # decimal fractions are inexact in binary
Cells = dict[CellId, CellResult]
Pair = tuple[SeedValue, SeedValue]  # the values of a seed in both folders


@dataclass(frozen=True)
class Compared:
    """A cell, compared over the seeds with the same encoders in both folders.

    Undefined numbers are None.

    Attributes:
        seeds: the number of these seeds.
        a, b: the means over these seeds.
        difference: b minus a.
        largest: the largest absolute difference of a seed.
        spread: the standard deviation over the seeds within the folders, or a published standard deviation.
        borrowed: whether the standard deviation is published.
        spreads: the difference divided by the standard deviation.
        state: the result of the comparison.
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
    """The cells, runs, machines and packages of two folders.

    Attributes:
        cells: the compared cells.
        other_runs: cells that are in both folders but have no seed with the same runs.
        only_a, only_b: the number of cells in only one of the folders.
        machines_a, machines_b: the machines of each folder, the most frequent first.
        packages_a, packages_b: digests of the versions of this package, the most frequent first.
        runs: the number of runs in both folders.
        different: runs of both folders with a different number.
        runs_only_a, runs_only_b: runs in only one of the folders.
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
        """Return the comparison as a dict for JSON."""
        return {"counts": self.counts, **asdict(self)}


def compare(a: Path, b: Path) -> Comparison:
    """Compare two results folders.

    Args:
        a: a results folder.
        b: a results folder of the same study.

    Raises:
        MissingData: if a folder contains no items.
        BadInput: if an item is broken, or if no cell has the same runs in both folders.
    """
    first, second = _cells(a), _cells(b)
    pairs = {}
    for key in first:
        if key in second:
            pairs[key] = _shared_values(first[key], second[key])
    compared = []
    for key in pairs:
        if any(one.value is not None or two.value is not None for one, two in pairs[key]):
            compared.append(_compare_cell(key, pairs[key], first[key], second[key]))
    if not compared:
        raise BadInput(
            f"{a} and {b} do not share a cell with the same runs; use two results folders of the same study"
        )
    runs_a, runs_b = _runs(first), _runs(second)
    different = set()
    for one, two in chain.from_iterable(map(_complete, pairs.values())):
        if one.value != two.value:
            different.add(one.run)
    return Comparison(
        cells=tuple(compared),
        other_runs=tuple(cell.short for cell in pairs if not pairs[cell]),
        only_a=len(first) - len(pairs),
        only_b=len(second) - len(pairs),
        machines_a=_machines(first),
        machines_b=_machines(second),
        packages_a=_most_frequent(first, lambda cell: cell.packages),
        packages_b=_most_frequent(second, lambda cell: cell.packages),
        runs=len(runs_a & runs_b),
        different=tuple(sorted(different - {""})),
        runs_only_a=tuple(sorted(runs_a - runs_b)),
        runs_only_b=tuple(sorted(runs_b - runs_a)),
    )


def _runs(cells: Cells) -> set[str]:
    runs = set()
    for cell in cells.values():
        for each in cell.values:
            if each.run:
                runs.add(each.run)
    return runs


def _cells(folder: Path) -> Cells:
    """Load the cells with values of a folder, by id.

    The metric of each id is replaced by the metric path.
    """
    cells = {}
    for result in results_in(folder):
        for name, cell in result.by_id.items():
            if cell.values:
                cells[replace(name, metric=cell.metric_path)] = cell
    return cells


def _most_frequent(cells: Cells, names: Callable[[CellResult], Iterable[str]]) -> tuple[str, ...]:
    """Return the names of cells, the name with the most values first."""
    counts: Counter[str] = Counter()
    for cell in cells.values():
        for name in names(cell):
            counts[name] += len(cell.values)
    return tuple(name for name, _ in counts.most_common())


def _machines(cells: Cells) -> tuple[str, ...]:
    known = count_machines(chain.from_iterable(cell.machines for cell in cells.values()))
    return _most_frequent(cells, lambda cell: matching_names(cell.machines, known))


def _shared_values(first: CellResult, second: CellResult) -> list[Pair]:
    """Return the values of the seeds with the same encoders in both cells."""
    by_seed = {each.seed: each for each in second.values}
    pairs = []
    for one in first.values:
        two = by_seed.get(one.seed)
        if two is not None and (one.encoder, one.group) == (two.encoder, two.group):
            pairs.append((one, two))
    return pairs


def _complete(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs without a missing value."""
    return [(one, two) for one, two in pairs if one.value is not None and two.value is not None]


def _compare_cell(cell: CellId, pairs: Sequence[Pair], first: CellResult, second: CellResult) -> Compared:
    complete = _complete(pairs)
    is_same = all(one.value == two.value for one, two in complete)
    is_missing = len(complete) < len(pairs)
    values, other_values = [], []
    for one, two in complete:
        values.append(one.value)
        other_values.append(two.value)
    ours, theirs = finite_numbers(values), finite_numbers(other_values)
    if not complete or len(ours) < len(complete) or len(theirs) < len(complete):
        state = _state_without_numbers(is_missing, is_same)
        return Compared(
            cell.short, cell.metric, len(complete), None, None, None, None, None, False, None, state
        )
    differences = [two - one for one, two in zip(ours, theirs, strict=True)]
    a, b = mean_and_spread(ours)[0], mean_and_spread(theirs)[0]
    difference, largest = mean_and_spread(differences)[0], max(map(abs, differences))
    spread, borrowed = _spread(first, second)
    rounding = HALF_DIGIT
    if first.reported and first.reported.number:
        rounding = first.reported.number.half_digit
    rounding += SLACK * max(abs(a), abs(b))
    if is_missing or is_same:
        state = _state_without_numbers(is_missing, is_same)
    elif largest <= rounding:
        state = "equal to rounding"
    elif spread is None:
        state = "no spread"
    elif abs(difference) <= spread:
        state = "within spread"
    else:
        state = "beyond spread"
    return Compared(
        cell=cell.short,
        metric=cell.metric,
        seeds=len(complete),
        a=a,
        b=b,
        difference=difference,
        largest=largest,
        spread=spread,
        borrowed=borrowed,
        spreads=difference / spread if spread else None,
        state=state,
    )


def _state_without_numbers(is_missing: bool, is_same: bool) -> State:
    """Return the state of a cell that needs no difference."""
    if is_missing:
        return "missing"
    if is_same:
        return "identical"
    return "no spread"


def _spread(first: CellResult, second: CellResult) -> tuple[float | None, bool]:
    """Compute the pooled standard deviation over the seeds of two folders.

    The published standard deviation is used if there are too few seeds. The second value is true in this case.
    """
    squares, degrees = 0.0, 0
    for side in (first, second):
        numbers = finite_numbers([each.value for each in side.values])
        if len(numbers) > 1:
            spread = mean_and_spread(numbers)[1] or 0.0
            squares += (len(numbers) - 1) * spread**2
            degrees += len(numbers) - 1
    if degrees:
        return math.sqrt(squares / degrees), False
    published = first.published_sd or second.published_sd
    return published, published is not None
