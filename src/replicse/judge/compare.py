"""Two results folders of the same runs, cell by cell: what another machine changes, in units of the seed spread.

DiffCSE's first author could not reproduce its numbers on a second machine (methods 6, pitfall 24).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from replicse.errors import BadInput
from replicse.judge.csv_rows import tidy_rows
from replicse.judge.folder import held
from replicse.judge.statistics import mean_and_spread
from replicse.spec.cell_id import CellId
from replicse.spec.printed import printed_number

State = Literal["identical", "equal to rounding", "within spread", "beyond spread", "no spread", "missing"]
STATES: tuple[State, ...] = get_args(State)
HALF_DIGIT = 0.005  # two decimals are shown where no number is printed
SLACK = 1e-12  # decimal fractions are inexact in binary
Row = dict[str, str]
Rows = list[Row]


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
        if any(row["value"] for pair in pairs[key] for row in pair)
    )
    if not compared:
        raise BadInput(f"{a} and {b} share no cell of the same runs; name two results folders of one study")
    runs_a, runs_b = ({row["run"] for row in _rows(cells)} - {""} for cells in (first, second))
    shared = [pair for each in pairs.values() for pair in each if all(row["value"] for row in pair)]
    different = {one["run"] for one, other in shared if one["value"] != other["value"]} - {""}
    return Comparison(
        cells=compared,
        other_runs=tuple(cell.short for cell in common if not pairs[cell]),
        only_a=len(first) - len(common),
        only_b=len(second) - len(common),
        machines_a=_named(first, "machine"),
        machines_b=_named(second, "machine"),
        packages_a=_named(first, "package"),
        packages_b=_named(second, "package"),
        runs=len(runs_a & runs_b),
        different=tuple(sorted(different)),
        runs_only_a=tuple(sorted(runs_a - runs_b)),
        runs_only_b=tuple(sorted(runs_b - runs_a)),
    )


def _cells(folder: Path) -> dict[CellId, Rows]:
    """Return the values of a folder by cell, its metric a path, as text; quoted cells have none."""
    cells: dict[CellId, Rows] = defaultdict(list)
    for row in tidy_rows(held(folder)):
        item = f"{row['paper']}/{row['item']}"
        cell = CellId(item, row["row"], row["column"], row["metric"], row["protocol"])
        cells[cell].append({name: str(entry) for name, entry in row.items()})
    return cells


def _rows(cells: Mapping[CellId, Rows]) -> Iterable[Row]:
    return (row for rows in cells.values() for row in rows)


def _named(cells: Mapping[CellId, Rows], column: str) -> tuple[str, ...]:
    """Return the machines or packages of a folder, the one with most numbers first."""
    counts = Counter(name for row in _rows(cells) for name in row.get(column, "").split(" | ") if name)
    return tuple(name for name, _ in counts.most_common())


def _shared(first: Rows, second: Rows) -> list[tuple[Row, Row]]:
    """Return the rows of the seeds that both have of the same encoders."""
    by_seed = {row["seed"]: row for row in second}
    pairs = [(row, by_seed[row["seed"]]) for row in first if row["seed"] in by_seed]
    return [
        (one, two)
        for one, two in pairs
        if all(one.get(name, "") == two.get(name, "") for name in ("encoder", "group"))
    ]


def _compared(cell: CellId, pairs: Sequence[tuple[Row, Row]], first: Rows, second: Rows) -> Compared:
    there = [pair for pair in pairs if all(row["value"] for row in pair)]
    seeds = len({one["seed"] for one, _ in there})
    read = [(_number(one["value"]), _number(two["value"])) for one, two in there]
    numbers = [(one, two) for one, two in read if one is not None and two is not None]
    if not there or len(numbers) < len(there):
        same = bool(there) and all(one["value"] == two["value"] for one, two in there)
        state: State = "missing" if len(there) < len(pairs) else "identical" if same else "no spread"
        return Compared(cell.short, cell.metric, seeds, None, None, None, None, None, False, None, state)
    differences = [two - one for one, two in numbers]
    a, b = (mean_and_spread(side)[0] for side in zip(*numbers, strict=True))
    difference, largest = mean_and_spread(differences)[0], max(map(abs, differences))
    spread, borrowed = _spread(first, second)
    if len(there) < len(pairs):
        state = "missing"
    elif all(one["value"] == two["value"] for one, two in there):
        state = "identical"
    elif largest <= _half_digit(there[0][0].get("reported", "")) + SLACK * max(map(abs, (a, b))):
        state = "equal to rounding"
    elif spread is None:
        state = "no spread"
    else:
        state = "within spread" if abs(difference) <= spread else "beyond spread"
    spreads = difference / spread if spread else None
    return Compared(
        cell.short, cell.metric, seeds, a, b, difference, largest, spread, borrowed, spreads, state
    )


def _spread(first: Rows, second: Rows) -> tuple[float | None, bool]:
    """Return the standard deviation over the seeds inside two folders, pooled, else the published one.

    The second value says that it is published.
    """
    squares, degrees = 0.0, 0
    for side in (first, second):
        numbers = [number for row in side if (number := _number(row["value"])) is not None]
        spread = mean_and_spread(numbers)[1] if numbers else None
        if spread is not None:
            squares += (len(numbers) - 1) * spread**2
            degrees += len(numbers) - 1
    if degrees:
        return math.sqrt(squares / degrees), False
    spreads = [row.get("published_sd", "") for side in (first, second) for row in side]
    published = next(filter(None, spreads), "")
    return (_number(published), True) if published else (None, False)


def _half_digit(reported: str) -> float:
    try:
        number = printed_number(reported)
    except BadInput:
        number = None
    return number.half_digit if number else HALF_DIGIT


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
