"""Rules of the audit on tables and figures: sums, differences, equal cells, percentages, sizes."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from replicse.compile.study import Study
from replicse.judge.findings import (
    UNROUNDED,
    PrintedCell,
    finding,
    measured,
    printed_cell,
    quotation,
)
from replicse.judge.judgements import CERTAIN, Finding
from replicse.judge.rules_of_text import computed
from replicse.spec.columns import Over
from replicse.spec.counterparts import differences
from replicse.spec.datasets import Datasets, TaskAverage
from replicse.spec.printed import Rounded

LINEAR = ("single", "mean")


def averages(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed averages that are not the mean of the printed parts of their row, or of their encoder elsewhere.

    The papers' code averages two-decimal scores (methods 2.2), so the mean of the printed parts is exact; an
    average of unrounded scores has room for their rounding, as has one of parts printed coarser than itself.
    """
    of_encoders = defaultdict(list)
    for printed in measured(plan):
        of_encoders[printed.cell.item.paper, printed.cell.encoders].append(printed)
    for item in plan.items:
        cells = list(measured(plan, item))
        for printed in cells:
            cell, reported, average = printed
            wanted = datasets.averages.get(cell.metric_path)
            # Other statistics than a mean do not pass from parts to their average.
            if wanted is None or reported.statistic not in LINEAR or cell.column.over != Over():
                continue
            parts = [
                other
                for other in cells
                if other.cell.row.id == cell.row.id
                and other.statistic == printed.statistic
                and other.cell.metric_path in wanted.paths
            ] or _parts_elsewhere(printed, wanted, of_encoders[cell.item.paper, cell.encoders])
            if len(parts) != wanted.parts:
                continue
            mean = sum((part.number.exact for part in parts), Fraction()) / len(parts)
            room = sum((part.number.half for part in parts), Fraction()) / len(parts)
            gap = abs(average.exact - mean) - average.half
            coarse = any(part.number.half > average.half for part in parts)
            if gap > (room if coarse else 0):
                follows = f"{average.text(mean)}, the mean of the {len(parts)} printed parts"
                certainty = (
                    CERTAIN if gap > room else "unless the parts were averaged before they were rounded"
                )
                yield finding(plan, "average", [printed, *parts], follows, certainty)


def _parts_elsewhere(
    printed: PrintedCell, wanted: TaskAverage, cells: Sequence[PrintedCell]
) -> list[PrintedCell]:
    """Return the parts of an average that its paper prints in other tables, one of each, among its encoder's cells."""
    parts = {
        other.cell.metric_path: other
        for other in cells
        if other.cell.metric_path in wanted.paths
        and other.cell.encoders
        and other.statistic == printed.statistic
    }
    return list(parts.values())


def printed_differences(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed differences that are not minuend less subtrahend, both as printed."""
    cells = {cell.id: cell for name in plan.items for cell in plan.described(name)}
    for difference, minuend_key, other in differences(plan.papers):
        if difference not in cells or minuend_key not in cells:
            continue
        cell, minuend = printed_cell(cells[difference]), printed_cell(cells[minuend_key])
        subtracted = cells[difference].subtracted
        subtrahend = subtracted.number if subtracted else None
        if cell is None or minuend is None or subtracted is None or subtrahend is None:
            continue
        follows = minuend.number.exact - subtrahend.exact
        gap = abs(cell.number.exact - follows) - cell.number.half
        if gap > 0:
            sign = "+" if follows > 0 else ""
            # The other paper's number is known as printed only, so its rounding explains nothing.
            yield finding(
                plan,
                "difference",
                [cell, minuend],
                f"{sign}{cell.number.text(follows)}, which is {minuend.reported.value} less {subtracted.value}",
                CERTAIN if gap > minuend.number.half else UNROUNDED,
                further=(other,),
            )


def derived(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed numbers of derived columns that are not what their formula makes of the printed ones of their row.

    A formula of unrounded numbers has room for their rounding, as has one of numbers printed coarser than its result.
    """
    for item in plan.items:
        cells = list(measured(plan, item))
        for printed in cells:
            cell, reported, number = printed
            column = cell.column
            if column.kind != "derived" or reported.statistic not in LINEAR or column.over != Over():
                continue
            operands = {
                name: other
                for other in cells
                if other.statistic == printed.statistic
                for name, (row, read) in column.reads.items()
                if (other.cell.row.id, other.cell.column.id) == (row or cell.row.id, read)
            }
            # A quotient of means is not the mean of quotients.
            follows_from_means = reported.statistic == "single" or column.parsed.linear
            if len(operands) < len(column.parsed.names) or not follows_from_means:
                continue
            try:
                result = computed(column.parsed, {name: other.number for name, other in operands.items()})
            except ZeroDivisionError:
                continue
            gap = abs(number.exact - result.exact) - number.half
            coarse = any(other.number.half > number.half for other in operands.values())
            if gap > (result.half if coarse else 0):
                shown = column.formula
                for name, other in operands.items():
                    shown = shown.replace(f"{{{name}}}", other.reported.value)
                yield finding(
                    plan,
                    "derived",
                    [printed, *operands.values()],
                    f"{number.text(result.exact)}, which is {shown}",
                    CERTAIN if gap > result.half else UNROUNDED,
                )


def equals(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of one encoder, read alike, that one paper prints differently.

    A number quoted from elsewhere may differ from the paper's own measurement, but not from the same quotation.
    """
    groups: dict[tuple[Any, ...], list[PrintedCell]] = {}
    for printed in measured(plan):
        cell, source = printed.cell, quotation(printed.reported)
        who = cell.encoders or (source and (cell.row.id, cell.row.label))
        if who and cell.metric_path:
            read = datasets.one_name(cell.metric_path)
            key = (cell.item.paper, who, read, cell.column.metric, source, printed.statistic)
            groups.setdefault(key, []).append(printed)
    for group in groups.values():
        numbers = sorted((each.number for each in group), key=lambda number: number.exact)
        if all(first.agrees(second) for first, second in itertools.combinations(numbers, 2)):
            continue
        low, high = numbers[0], numbers[-1]
        certain = high.exact - low.exact > high.half + low.half
        yield finding(
            plan,
            "equal",
            group,
            "one number: the same encoder, read alike",
            CERTAIN if certain else "unless one number was rounded in two ways",
            printed=", ".join(f"{each.reported.value} ({each.place})" for each in group),
            against=(),
        )


def percentages(plan: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield percentages that no whole number of the test items gives."""
    for printed in measured(plan):
        cell, reported, number = printed
        readings = datasets.readings(cell.metric_path)
        single = reported.statistic == "single" and cell.column.over == Over()
        if not readings or not single or number.share_of(readings[0].items):
            continue
        items, what = readings[0].items, readings[0].what
        below = math.floor(number.exact * items / 100)
        shares = [number.text(Fraction(100 * count, items)) for count in (below, below + 1)]
        others = [f"{other.items} {other.what}" for other in readings[1:] if number.share_of(other.items)]
        yield finding(
            plan,
            "percentage",
            [printed],
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
    for printed in measured(plan):
        number, parts = printed.number, datasets.parts(printed.cell.metric_path)
        counted = sum(parts.values())
        if parts and abs(number.exact - counted) > number.half:
            alike = [name for name, size in parts.items() if name and size == number.exact]
            note = f"the size of {' or '.join(alike)} alone" if alike else ""
            follows = f"{counted:,}, counted on the data"
            yield finding(plan, "size", [printed], follows, CERTAIN, note=note, against=("the data",))


RULES = (averages, printed_differences, derived, equals, percentages, sizes)
