"""The smallest difference from the printed number that so many seeds detect, and the seeds that a difference needs.

Spreads are those of our own seeds, else published ones.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from replicse.compile.item_plan import explain_not_comparable, find_spread
from replicse.compile.study import Cell, Study
from replicse.judge.power import POWER, seeds_for, smallest_gap
from replicse.judge.statistics import ORDERED, pool_spreads, spreads_disagree
from replicse.judge.table import CellResult, ItemResult
from replicse.judge.values import finite_numbers
from replicse.printable import several
from replicse.registry.suites import is_percentage
from replicse.spec.printed import Reported, Spread


@dataclass(frozen=True)
class Needed:
    """What seeds detect of a cell whose spread is known.

    `spread` is a standard deviation over seeds, `source` says whose; `smallest` is the smallest difference from the
    printed number that the asked seeds detect, None where they are too few; `seeds` are the fewest that detect the
    difference that was measured, None where there is none or no number of seeds detects it.
    """

    spread: float
    source: str
    smallest: float | None
    seeds: int | None


def spread_behind(result: CellResult | None, published: Spread | None) -> tuple[float | None, str]:
    """Return the spread that a cell's verdict would rest on, and whose it is; None and blank where none is known."""
    own = finite_numbers([each.value for each in result.values]) if result and not result.failure else []
    if published and not own:
        return published.sd, "published"
    used = pool_spreads(own, published) if own else None
    if used is None or not used.sd:
        return None, ""
    borrowed = published is not None and not spreads_disagree(own, published)
    both = "published and " * borrowed
    return used.sd, f"{both}ours, {several(len(own), 'seed')}"


def needed_of_cell(plan: Study, cell: Cell, result: CellResult | None, seeds: int) -> Needed | None:
    """Return what so many seeds detect of a cell; None where nothing is drawn or no spread is known."""
    published = find_spread(plan, cell)
    spread, source = spread_behind(result, published)
    form = printed_form(cell.reported)
    drawn = cell.encoders and cell.seeds != (None,) and cell.column.kind != "text"
    if not drawn or spread is None or form is None:
        return None
    of, share = form
    borrowed = published.degrees if published and source.startswith("published") else 0.0
    unit = smallest_gap(seeds, of=of, share=share, borrowed=borrowed)
    gap = result.delta if result else None
    fewest = None if gap is None else seeds_for(gap / spread, of=of, share=share, borrowed=borrowed)
    return Needed(spread, source, None if unit is None else unit * spread, fewest)


def detectable_differences(plan: Study) -> dict[str, float]:
    """Return the median difference that the plan's seeds detect in each item's cells, where a spread is known.

    Spreads are those of what is tabulated, else published ones.
    """
    there = {item: Path(plan.paths.item(item)) for item in plan.items}
    there = {item: file for item, file in there.items() if file.is_file()}
    gaps = {}
    for item in plan.items if there or plan.measured else ():
        found = ItemResult.read(there[item]).described if item in there else {}
        needs = (
            needed_of_cell(plan, cell, found.get(cell.id), len(plan.seeds))
            for cell in plan.described(item)
            if cell.encoders and cell.reported and is_percentage(cell.metric_path)
        )
        if smallest := [need.smallest for need in needs if need and need.smallest is not None]:
            gaps[item] = median(smallest)
    return gaps


def printed_form(reported: Reported | None) -> tuple[int, float | None] | None:
    """Return of how many runs print is the mean, or the order statistic and at which share; None for a deviation."""
    statistic = reported.statistic if reported else "single"
    if statistic == "sd":
        return None
    count = (reported.seeds if reported and statistic != "single" else None) or 1
    if statistic in ("single", "mean"):
        return count, None
    return count, ORDERED.get(statistic, (reported.q if reported else None) or 0.0) / 100


def power_lines(plan: Study, cell: Cell, result: CellResult) -> list[str]:
    """Return which difference the seeds of a cell detect, and how many seeds the measured one needs."""
    count = len(finite_numbers([each.value for each in result.values]))
    need = needed_of_cell(plan, cell, result, count)
    if need is None or need.smallest is None:
        return []
    spread = f"standard deviation {need.spread:.2f}, {need.source}"
    points = is_percentage(cell.metric_path)
    lines = [detects(count, f"{need.smallest:.1f} points" if points else f"{need.smallest:.3g}", spread)]
    if result.delta is not None and not explain_not_comparable(plan, cell):
        asks = f"takes {several(need.seeds, 'seed')}" if need.seeds else "is detected by no number of seeds"
        lines.append(f"the difference of {result.delta:+.2f} {asks}")
    return lines


def detects(seeds: int, difference: str, about: str = "") -> str:
    """Return the sentence on the smallest difference from print that so many seeds detect."""
    verb = "detects" if seeds == 1 else "detect"
    power = ", ".join(filter(None, [f"{POWER:.0%}", about]))
    return f"{several(seeds, 'seed')} {verb} a difference of {difference} ({power})"
