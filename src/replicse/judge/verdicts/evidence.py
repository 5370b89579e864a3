"""The differences that the seeds of a cell detect, and the seeds it needs.

The standard deviation over seeds is computed from our seeds. A published standard deviation is used if there are too
few seeds.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from replicse.compile.cell import Cell
from replicse.compile.item_plan import explain_not_comparable, find_spread
from replicse.compile.study import Study
from replicse.judge.statistics.intervals import ORDERED, pool_spreads, spreads_disagree
from replicse.judge.statistics.power import POWER, seeds_for, smallest_gap
from replicse.judge.values.cell_values import finite_numbers
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.printable import several
from replicse.registry.suites import is_percentage
from replicse.spec.printed import Reported, Spread


@dataclass(frozen=True)
class Needed:
    """The power of the seeds of a cell with a known standard deviation.

    Attributes:
        spread: the standard deviation over seeds.
        source: a string such as "ours, 5 seeds" or "published".
        smallest: the smallest difference from the printed number that is detected; None if there are too few seeds.
        seeds: the fewest seeds that detect the measured difference; None if it is unknown or never detected.
    """

    spread: float
    source: str
    smallest: float | None
    seeds: int | None


def spread_behind(result: CellResult | None, published: Spread | None) -> tuple[float | None, str]:
    """Return the standard deviation that a verdict uses, and the source.

    Args:
        result: the result of the cell; None if it was not run.
        published: the published standard deviation; None if there is none.

    Returns:
        The standard deviation and a string such as "ours, 5 seeds"; (None, "") if it is unknown.
    """
    ours: list[float] = []
    if result and not result.failure:
        ours = finite_numbers([each.value for each in result.values])
    if published and not ours:
        return published.sd, "published"
    used = pool_spreads(ours, published) if ours else None
    if used is None or not used.sd:
        return None, ""
    source = f"ours, {several(len(ours), 'seed')}"
    if published is not None and not spreads_disagree(ours, published):
        source = f"published and {source}"
    return used.sd, source


def needed_of_cell(study: Study, cell: Cell, result: CellResult | None, seeds: int) -> Needed | None:
    """Compute which difference a number of seeds detects in a cell.

    Args:
        study: the study.
        cell: the cell.
        result: the result of the cell; None if it was not run.
        seeds: the number of seeds.

    Returns:
        The detectable difference and the seeds that are needed; None if the cell does not depend on a seed, or if the
        standard deviation is unknown.
    """
    published = find_spread(study, cell)
    spread, source = spread_behind(result, published)
    form = printed_form(cell.reported)
    has_seeds = cell.encoders and cell.seeds != (None,) and cell.column.kind != "text"
    if not has_seeds or spread is None or form is None:
        return None
    of, share = form
    borrowed = published.degrees if published and source.startswith("published") else 0.0
    unit = smallest_gap(seeds, of=of, share=share, borrowed=borrowed)
    smallest = fewest = None
    if unit is not None:
        smallest = unit * spread
    if result and result.delta is not None:
        fewest = seeds_for(result.delta / spread, of=of, share=share, borrowed=borrowed)
    return Needed(spread, source, smallest, fewest)


def detectable_differences(study: Study) -> dict[str, float]:
    """Compute the median difference that a study detects in each item.

    The standard deviations of tabulated results are used, and published standard deviations for other cells.

    Args:
        study: the study.

    Returns:
        Dict from item to the difference in points. Items without a known standard deviation are skipped.
    """
    tabulated = {}
    for item in study.items:
        file = Path(study.paths.item(item))
        if file.is_file():
            tabulated[item] = file
    if not tabulated and not study.measured:
        return {}
    differences = {}
    for item in study.items:
        results = ItemResult.read(tabulated[item]).described if item in tabulated else {}
        smallest = []
        for cell in study.described(item):
            if cell.encoders and cell.reported and is_percentage(cell.metric_path):
                need = needed_of_cell(study, cell, results.get(cell.id), len(study.seeds))
                if need and need.smallest is not None:
                    smallest.append(need.smallest)
        if smallest:
            differences[item] = median(smallest)
    return differences


def printed_form(reported: Reported | None) -> tuple[int, float | None] | None:
    """Return how many runs a printed number summarises, and its quantile.

    Args:
        reported: the printed number; None is treated as a single run.

    Returns:
        The number of runs, and the quantile from 0 to 1 of an order statistic (None for a mean or a single run); None
        for a standard deviation.
    """
    if reported is None or reported.statistic == "single":
        return 1, None
    if reported.statistic == "sd":
        return None
    count = reported.seeds or 1
    if reported.statistic == "mean":
        return count, None
    return count, ORDERED.get(reported.statistic, reported.q or 0.0) / 100


def power_lines(study: Study, cell: Cell, result: CellResult) -> list[str]:
    """Describe the power of the seeds of a cell as a list of sentences.

    Args:
        study: the study.
        cell: the cell.
        result: the result of the cell.

    Returns:
        List of at most two sentences; empty if the power is unknown.
    """
    count = len(finite_numbers([each.value for each in result.values]))
    need = needed_of_cell(study, cell, result, count)
    if need is None or need.smallest is None:
        return []
    spread = f"standard deviation {need.spread:.2f}, {need.source}"
    smallest = f"{need.smallest:.3g}"
    if is_percentage(cell.metric_path):
        smallest = f"{need.smallest:.1f} points"
    lines = [detects(count, smallest, spread)]
    if result.delta is not None and not explain_not_comparable(study, cell):
        needs = "is not detected by any number of seeds"
        if need.seeds:
            needs = f"needs {several(need.seeds, 'seed')}"
        lines.append(f"the difference of {result.delta:+.2f} {needs}")
    return lines


def detects(seeds: int, difference: str, about: str = "") -> str:
    """Return a sentence about the smallest difference that seeds detect.

    Args:
        seeds: the number of seeds.
        difference: the difference with its unit, such as "0.8 points".
        about: further details. Default: an empty string.
    """
    verb = "detects" if seeds == 1 else "detect"
    power = ", ".join(filter(None, [f"{POWER:.0%}", about]))
    return f"{several(seeds, 'seed')} {verb} a difference of {difference} ({power})"
