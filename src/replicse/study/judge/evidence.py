"""How much is enough: what so many seeds can tell of each cell and claim, and which of them are open.

Spreads are those of our own seeds, else published ones. An open cell or claim is one that more seeds may still turn,
by intervals that hold at all looks together (`results.anytime`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from replicse.files import read_json
from replicse.registry.levels import FEWEST_SEEDS
from replicse.study.judge.claims import OurNumbers
from replicse.study.judge.readings import OurCells, on_shared_draws, printed_reading
from replicse.study.paper.cell_names import CellNames
from replicse.study.paper.claims import Claim, Relation
from replicse.study.paper.printed import Reported
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.plan import Cell, Plan
from replicse.study.results.anytime import settled, settled_sign
from replicse.study.results.log import logged
from replicse.study.results.power import POWER, seeds_for, seeds_for_effect, smallest_effect, smallest_gap
from replicse.study.results.statistics import ORDERED, contradicts, mean_and_spread, spread_of
from replicse.study.results.table import CellResult, ItemResult
from replicse.study.results.tabulate import borrowed_spread, why_not_comparable
from replicse.study.results.values import finite
from replicse.study.results.verdict import FEW_SEEDS


@dataclass(frozen=True)
class Needed:
    """What seeds tell of one cell or claim; None where there is nothing to say.

    `spread` is a standard deviation over seeds, `source` says whose; `smallest` is the smallest gap to print (of a
    claim the smallest slack) that the asked seeds tell, `gap` the one that there is, `seeds` the fewest that tell it.
    """

    name: str
    spread: float | None
    source: str
    smallest: float | None
    gap: float | None
    seeds: int | None
    note: str = ""


def spread_behind(cell: Cell, result: CellResult | None, published: float | None) -> tuple[float | None, str]:
    """Return the spread that a cell's verdict would rest on, and whose it is: `ours`, `published`, or blank."""
    own = finite([each.value for each in result.values]) if result and not result.failure else []
    measured = spread_of(own)
    few = len(own) < FEW_SEEDS and published is not None and not (own and contradicts(own, published))
    if few:
        return published, "published"
    return (measured, f"ours, {len(own)} seeds") if measured else (None, "")


def needed_of_cell(
    plan: Plan, cell: Cell, result: CellResult | None, seeds: int, power: float, other: Reported | None = None
) -> Needed:
    """Return what so many seeds tell of a cell; the gap is ours to print, else that of two papers' prints."""
    name = "/".join(cell.key)
    published = borrowed_spread(plan, cell)
    spread, source = spread_behind(cell, result, published)
    why_not = why_not_comparable(plan, cell)
    reported = cell.reported
    if not cell.encoders or cell.seeds == (None,) or cell.column.kind == "text":
        return Needed(name, None, "", None, None, None, "nothing is drawn")
    if spread is None:
        return Needed(name, None, "", None, None, None, "no spread, ours or published")
    form = printed_form(reported)
    if form is None:
        return Needed(name, spread, source, None, None, None, "print is a standard deviation")
    of, share = form
    known = source == "published"
    unit = smallest_gap(seeds, of=of, share=share, known=known, power_wanted=power)
    smallest = None if unit is None else unit * spread
    gap = _gap(result, reported, other) if not why_not else None
    fewest = (
        None if gap is None else seeds_for(gap / spread, of=of, share=share, known=known, power_wanted=power)
    )
    note = why_not or ("" if gap is None or fewest else "no number of seeds tells this gap")
    return Needed(name, spread, source, smallest, gap, fewest, note)


def gaps_told(plan: Plan) -> dict[str, float]:
    """Return the median smallest gap to print that the plan's seeds tell of each item's cells, where a spread is known.

    Spreads are those of what is tabulated, else published ones.
    """
    there = {item: Path(plan.paths.item(item)) for item in plan.items}
    there = {item: file for item, file in there.items() if file.is_file()}
    gaps = {}
    for item in plan.items if there or plan.measured else ():
        found = ItemResult.of(read_json(there[item]), str(there[item])).described if item in there else {}
        needs = (
            needed_of_cell(plan, cell, found.get(cell.key[1:]), len(plan.seeds), POWER)
            for cell in plan.described(item)
            if cell.encoders and cell.reported
        )
        if told := [need.smallest for need in needs if need.smallest is not None]:
            gaps[item] = median(told)
    return gaps


def printed_form(reported: Reported | None) -> tuple[int, float | None] | None:
    """Return of how many runs print is the mean, or the order statistic and at which share; None for a deviation."""
    statistic = reported.statistic if reported else "single"
    if statistic == "sd":
        return None
    count = (reported.seeds if reported and statistic != "single" else None) or 1
    if statistic in ("single", "mean"):
        return count, None
    return count, ORDERED.get(statistic, reported.q or 0.0) / 100


def _gap(result: CellResult | None, reported: Reported | None, other: Reported | None) -> float | None:
    if result is not None and result.delta is not None:
        return result.delta
    numbers = [each.number if each else None for each in (reported, other)]
    return None if None in numbers else numbers[1].value - numbers[0].value


@dataclass(frozen=True)
class Slacks:
    """One part of a claim on our paired seeds: by how much it holds in each, and in print (None where not printed)."""

    claim: str
    part: str
    cells: tuple[str, ...]
    ours: tuple[float, ...]
    printed: float | None


def slacks_of(plan: Plan, claims: Iterable[Claim], results: Iterable[ItemResult]) -> Iterator[Slacks]:
    """Yield every part of claims that the scale judges, with our slack per paired seed, empty where it was not run."""
    if not plan.scale.judges_orders:
        return
    names = CellNames(plan.papers)
    numbers = OurNumbers(plan, names, OurCells(results, len(plan.seeds)))
    for claim in claims:
        for parts in claim.parts().values():
            for part in parts:
                if not plan.scale.comparable and numbers.absolute(part):
                    continue
                print_readings = {name: printed_reading(names.reported(name)) for name in part.cells}
                printed = None
                if not any(reading.missing for reading in print_readings.values()):
                    values = {name: reading.values[0] for name, reading in print_readings.items()}
                    left, right = part.numbers(values)
                    printed = part.slack(left, right)
                yield Slacks(claim.name, str(part), part.cells, _our_slacks(part, numbers), printed)


def _our_slacks(part: Relation, numbers: OurNumbers) -> tuple[float, ...]:
    """Return the slack of a relation per paired seed; empty where a cell has no value or nothing is drawn."""
    readings = on_shared_draws({name: numbers(name) for name in part.cells})
    if any(reading.missing for reading in readings.values()):
        return ()
    counts = {len(reading.values) for reading in readings.values()} - {1}
    if len(counts) != 1 or all(reading.seedless for reading in readings.values()):
        return ()
    (count,) = counts
    columns = [
        reading.values * count if len(reading.values) == 1 else reading.values
        for reading in readings.values()
    ]
    slacks = []
    for row in zip(*columns, strict=True):
        left, right = part.numbers(dict(zip(readings, row, strict=True)))
        slacks.append(part.slack(left, right))
    return tuple(slacks) if all(map(math.isfinite, slacks)) else ()


def needed_of_claim(slacks: Slacks, seeds: int, power: float, comparable: bool) -> Needed:
    """Return what so many paired seeds tell of a part of a claim.

    The gap is its slack in print, where our spread is of the paper's setting, else ours.
    """
    name, spread = f"{slacks.claim}: {slacks.part}", spread_of(slacks.ours)
    if not spread:
        return Needed(name, None, "", None, None, None, "no spread of paired seeds")
    unit = smallest_effect(seeds, power)
    in_print = comparable and slacks.printed is not None
    gap = slacks.printed if in_print else mean_and_spread(slacks.ours)[0]
    fewest = seeds_for_effect(gap / spread, power)
    note = "" if fewest else "does not hold" if gap <= 0 else "more than a thousand seeds"
    return Needed(name, spread, f"ours, {len(slacks.ours)} seeds", unit and unit * spread, gap, fewest, note)


def cell_verdict(plan: Plan, cell: Cell, result: CellResult) -> str:
    """Return the verdict of a cell that more seeds would not change; blank where it is open."""
    if result.failure or not cell.encoders or not cell.reported or why_not_comparable(plan, cell):
        return ""
    if result.seedless:
        return result.verdict
    own = finite([each.value for each in result.values])
    published = borrowed_spread(plan, cell)
    known = published if published and own and not contradicts(own, published) else None
    over = cell.column.over
    return settled(own, cell.reported, spread=known, reducer=over.seeds if over else None) if own else ""


def judged_cells(plan: Plan, item: str) -> list[Cell]:
    """Return the cells of an item, as described, that can get a verdict: trained, with a printed number, comparable."""
    return [
        cell
        for cell in plan.described(item)
        if plan.trained_runs([cell])
        and cell.seeds not in ((), (None,))
        and cell.column.kind in ("score", "difference", "derived")
        and cell.reported is not None
        and cell.reported.number is not None
        and cell.reported.statistic != "sd"
        and not why_not_comparable(plan, cell)
    ]


def claim_sign(slacks: Slacks) -> int:
    """Return 1 where paired seeds settle that a part of a claim holds, -1 where it fails, 0 where it is open."""
    return settled_sign(slacks.ours) if len(slacks.ours) >= FEWEST_SEEDS else 0


def open_rows(
    plan: Plan, items: Sequence[str], results: Sequence[ItemResult], claims: Sequence[Claim]
) -> dict[tuple[str, str], list[str]]:
    """Return the rows of some items with what is open in them: names of cells and of claims."""
    by_item = {result.item: {(cell.key, cell.protocol): cell for cell in result.cells} for result in results}
    rows: dict[tuple[str, str], list[str]] = {}
    for item in items:
        for cell in judged_cells(plan, item):
            result = by_item.get(item, {}).get((cell.key[1:], AS_DESCRIBED))
            if result is None or not (result.failure or cell_verdict(plan, cell, result)):
                rows.setdefault((item, cell.row.id), []).append("/".join(cell.key))
    for slacks in slacks_of(plan, claims, results):
        if claim_sign(slacks) == 0:
            for item, row in _rows_of(plan, slacks.cells, items):
                rows.setdefault((item, row), []).append(slacks.claim)
    return {row: list(dict.fromkeys(names)) for row, names in rows.items()}


def _rows_of(plan: Plan, names: Sequence[str], items: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the trained rows of some items that some cells are in."""
    cell_names = CellNames(plan.papers)
    keys = [cell_names.key(name) for name in names]
    for item in items:
        for cell in plan.described(item):
            if cell.key in keys and plan.trained_runs([cell]) and cell.seeds != (None,):
                yield item, cell.row.id


def power_lines(plan: Plan, cell: Cell, result: CellResult) -> list[str]:
    """Return what the seeds of a cell tell of print, and whether more of them may turn its verdict."""
    count = len(finite([each.value for each in result.values]))
    need = needed_of_cell(plan, cell, result, count, POWER)
    if need.smallest is None:
        return [need.note] if need.note and need.spread is not None else []
    spread = f"standard deviation {need.spread:.2f}, {need.source}"
    lines = [f"{count} seeds tell a gap of {need.smallest:.2f} from print with power {POWER:.0%} ({spread})"]
    if need.gap is not None:
        asks = f"asks for {need.seeds} seeds" if need.seeds else "is given by no number of seeds"
        verdict = cell_verdict(plan, cell, result)
        end = f"settled at all looks: {verdict}" if verdict else "more seeds may turn the verdict"
        lines.append(f"the gap of {need.gap:+.2f} {asks}; {end}")
    return lines


def lab_lines(result: CellResult) -> list[str]:
    """Return the values of several labs as one, then those of each lab."""
    if result.labs is None:
        return []
    lines = [result.labs.text]
    for lab in dict.fromkeys(each.lab for each in result.values):
        own = [each for each in result.values if each.lab == lab and isinstance(each.value, float)]
        lines.append(f"{lab}: {', '.join(f'seed {each.seed} {each.value:.2f}' for each in own)}")
    return lines


def log_lines(cell: Cell) -> list[str]:
    """Return who ran a cell before, by the rows of the reproduction log that hold a number of it."""
    name = "/".join(cell.key[1:])
    lines = []
    for row in logged([cell.item.id]):
        numbers = dict(part.rpartition("=")[::2] for part in row["numbers"].split("; "))
        if name in numbers:
            lines.append(
                f"{row['date']}: {numbers[name]} at scale {row['scale']}, seeds {row['seeds'] or 'none'}, study"
                f" {row['study']}, commit {row['commit'][:12]}"
            )
    return lines
