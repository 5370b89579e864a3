"""Rules of the audit on tables and figures: sums, differences, equal cells, percentages, sizes, seeds."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from replicse.compile.study import Cell, Study
from replicse.judge.findings import (
    UNROUNDED,
    finding,
    measured,
    quotation,
    source_of,
    statistic,
)
from replicse.judge.judgements import CERTAIN, Finding
from replicse.judge.rules_of_text import computed
from replicse.spec.cell_names import words
from replicse.spec.columns import Over
from replicse.spec.counterparts import differences
from replicse.spec.datasets import Datasets, TaskAverage
from replicse.spec.printed import Rounded

LINEAR = ("single", "mean")
# A run lies outside of n others of its kind by chance in 2 of n + 1 cases; above this share that says nothing.
CHANCE = Fraction(1, 20)


def averages(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed averages that are not the mean of the printed parts of their row, or of their encoder elsewhere.

    The papers' code averages two-decimal scores (methods 2.2), so the mean of the printed parts is exact; an
    average of unrounded scores has room for their rounding, as has one of parts printed coarser than itself.
    """
    everywhere = list(measured(plan))
    for item in plan.items:
        cells = list(measured(plan, item))
        for cell, average in cells:
            wanted = datasets.averages.get(cell.metric_path)
            # Other statistics than a mean do not pass from parts to their average.
            if wanted is None or cell.reported.statistic not in LINEAR or cell.column.over != Over():
                continue
            parts = [
                (other, number)
                for other, number in cells
                if other.row.id == cell.row.id
                and statistic(other) == statistic(cell)
                and other.metric_path in wanted.paths
            ] or _parts_elsewhere(cell, wanted, everywhere)
            if len(parts) != wanted.parts:
                continue
            mean = sum((number.exact for _, number in parts), Fraction()) / len(parts)
            room = sum((number.half for _, number in parts), Fraction()) / len(parts)
            gap = abs(average.exact - mean) - average.half
            coarse = any(number.half > average.half for _, number in parts)
            if gap > (room if coarse else 0):
                follows = f"{average.text(mean)}, the mean of the {len(parts)} printed parts"
                certainty = (
                    CERTAIN if gap > room else "unless the parts were averaged before they were rounded"
                )
                yield finding(plan, "average", [cell, *(part for part, _ in parts)], follows, certainty)


def _parts_elsewhere(
    cell: Cell, wanted: TaskAverage, cells: Sequence[tuple[Cell, Rounded]]
) -> list[tuple[Cell, Rounded]]:
    """Return the parts of an average that its paper prints in other tables: one of each, of the same encoder."""
    parts = {
        other.metric_path: (other, number)
        for other, number in cells
        if other.metric_path in wanted.paths
        and (other.item.paper, other.encoders) == (cell.item.paper, cell.encoders)
        and other.encoders
        and statistic(other) == statistic(cell)
    }
    return list(parts.values())


def printed_differences(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed differences that are not minuend less subtrahend, both as printed."""
    cells = {cell.id: cell for name in plan.items for cell in plan.described(name)}
    for difference, minuend_key, other in differences(plan.papers):
        if difference not in cells or minuend_key not in cells:
            continue
        cell, minuend_cell = cells[difference], cells[minuend_key]
        delta, minuend, subtrahend = (
            reported.number if reported else None
            for reported in (cell.reported, minuend_cell.reported, cell.subtracted)
        )
        if delta is None or minuend is None or subtrahend is None:
            continue
        follows = minuend.exact - subtrahend.exact
        gap = abs(delta.exact - follows) - delta.half
        if gap > 0:
            sign = "+" if follows > 0 else ""
            # The other paper's number is known as printed only, so its rounding explains nothing.
            yield finding(
                plan,
                "difference",
                [cell, minuend_cell],
                f"{sign}{delta.text(follows)}, which is {minuend_cell.reported.value} less {cell.subtracted.value}",
                CERTAIN if gap > minuend.half else UNROUNDED,
                further=(other,),
            )


def derived(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed numbers of derived columns that are not what their formula makes of the printed ones of their row.

    A formula of unrounded numbers has room for their rounding, as has one of numbers printed coarser than its result.
    """
    for item in plan.items:
        cells = list(measured(plan, item))
        for cell, number in cells:
            column = cell.column
            if column.kind != "derived" or cell.reported.statistic not in LINEAR or column.over != Over():
                continue
            operands = {
                name: other
                for other, _ in cells
                if statistic(other) == statistic(cell)
                for name, (row, read) in column.reads.items()
                if (other.row.id, other.column.id) == (row or cell.row.id, read)
            }
            # A quotient of means is not the mean of quotients.
            follows_from_means = cell.reported.statistic == "single" or column.parsed.linear
            if len(operands) < len(column.parsed.names) or not follows_from_means:
                continue
            try:
                result = computed(column.parsed, {name: other.reported for name, other in operands.items()})
            except ZeroDivisionError:
                continue
            gap = abs(number.exact - result.exact) - number.half
            coarse = any(other.reported.number.half > number.half for other in operands.values())
            if gap > (result.half if coarse else 0):
                shown = column.formula
                for name, other in operands.items():
                    shown = shown.replace(f"{{{name}}}", other.reported.value)
                yield finding(
                    plan,
                    "derived",
                    [cell, *operands.values()],
                    f"{number.text(result.exact)}, which is {shown}",
                    CERTAIN if gap > result.half else UNROUNDED,
                )


def equals(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of one encoder, read alike, that one paper prints differently.

    A number quoted from elsewhere may differ from the paper's own measurement, but not from the same quotation.
    """
    groups: dict[tuple[Any, ...], list[tuple[Cell, Rounded]]] = {}
    for cell, number in measured(plan):
        source = quotation(cell.reported)
        who = cell.encoders or (source and (cell.row.id, cell.row.label))
        if who and cell.metric_path:
            read = datasets.one_name(cell.metric_path)
            key = (cell.item.paper, who, read, cell.column.metric, source, statistic(cell))
            groups.setdefault(key, []).append((cell, number))
    for group in groups.values():
        numbers = sorted((number for _, number in group), key=lambda number: number.exact)
        if all(first.agrees(second) for first, second in itertools.combinations(numbers, 2)):
            continue
        low, high = numbers[0], numbers[-1]
        certain = high.exact - low.exact > high.half + low.half
        yield finding(
            plan,
            "equal",
            [cell for cell, _ in group],
            "one number: the same encoder, read alike",
            CERTAIN if certain else "unless one number was rounded in two ways",
            printed=", ".join(f"{cell.reported.value} ({source_of(cell)})" for cell, _ in group),
        )


def percentages(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield percentages that no whole number of the test items gives."""
    for cell, number in measured(plan):
        readings = datasets.readings(cell.metric_path)
        single = cell.reported.statistic == "single" and cell.column.over == Over()
        if not readings or not single or number.share_of(readings[0].items):
            continue
        items, what = readings[0].items, readings[0].what
        below = math.floor(number.exact * items / 100)
        shares = [number.text(Fraction(100 * count, items)) for count in (below, below + 1)]
        others = [f"{other.items} {other.what}" for other in readings[1:] if number.share_of(other.items)]
        yield finding(
            plan,
            "percentage",
            [cell],
            f"{shares[0]} or {shares[1]}, which are {below} and {below + 1} of {items} {what}",
            _escape(number, items),
            note=f"possible for {' or '.join(others)}" if others else "",
        )


def _escape(number: Rounded, items: int) -> str:
    """Return what could make an impossible percentage possible: a further zero, cutting off, several runs."""
    shorter = Rounded(number.value, float(10 * number.half))
    if number.exact % (2 * shorter.half) == 0 and shorter.share_of(items):
        return f"unless {shorter.text(number.exact)} was printed with a zero after it"
    cut_off = Rounded(float(number.exact + number.half), number.half_digit)
    if cut_off.share_of(items):
        return "unless cut off instead of rounded"
    runs = next(runs for runs in itertools.count(2) if number.share_of(items * runs))
    return f"unless it is the average of {runs} or more runs"


def sizes(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed sizes of sets that are not those of the data."""
    for cell, number in measured(plan):
        parts = datasets.parts(cell.metric_path)
        counted = sum(parts.values())
        if parts and abs(number.exact - counted) > number.half:
            alike = [name for name, size in parts.items() if name and size == number.exact]
            note = f"the size of {' or '.join(alike)} alone" if alike else ""
            yield finding(plan, "size", [cell], f"{counted:,}, counted on the data", CERTAIN, note=note)


def seeds(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of a single run that lie outside of all the seeds of the same training that are printed."""
    groups: dict[tuple[Any, ...], list[tuple[Cell, Rounded]]] = {}
    for cell, number in measured(plan):
        if cell.encoders and cell.metric_path and not quotation(cell.reported):
            key = (cell.encoders, datasets.one_name(cell.metric_path), cell.column.metric)
            groups.setdefault(key, []).append((cell, number))
    for group in groups.values():
        ends = {cell.reported.statistic: (cell, number) for cell, number in group}
        if not {"min", "max"} <= set(ends) or Fraction(2, ends["min"][0].reported.seeds + 1) > CHANCE:
            continue
        (least, low), (most, high) = ends["min"], ends["max"]
        singles = [(cell, number) for cell, number in group if cell.reported.statistic == "single"]
        for cell, number in singles:
            if low.exact <= number.exact <= high.exact:
                continue
            others = [
                f"{other.reported.value} is printed in {words(plan.papers, other.id, cell.item.paper)}"
                for other, print_ in singles
                if print_.exact != number.exact
            ]
            yield finding(
                plan,
                "seeds",
                [cell, least, most],
                f"{least.reported.value} to {most.reported.value} over {least.reported.seeds} seeds"
                f" ({words(plan.papers, least.id, cell.item.paper).rpartition(', ')[0]})",
                "unless more than the seed differs",
                note="; ".join(others),
            )


RULES = (averages, printed_differences, derived, equals, percentages, sizes, seeds)
