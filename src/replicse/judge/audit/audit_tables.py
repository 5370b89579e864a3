"""Audit of the numbers in tables and figures."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from replicse.compile.cell import Cell
from replicse.compile.study import Study
from replicse.judge.audit.audit_text import apply_formula
from replicse.judge.audit.findings import (
    UNROUNDED,
    PrintedCell,
    finding,
    measured_cells,
    printed_cell,
    quotation,
)
from replicse.judge.report.judgements import CERTAIN, Finding
from replicse.spec.cell_id import CellId
from replicse.spec.columns import Derived, Over
from replicse.spec.counterparts import differences
from replicse.spec.datasets import Datasets, TaskAverage
from replicse.spec.printed import Rounded

LINEAR = ("single", "mean")


def averages(study: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed averages that are not the mean of printed parts.

    The parts are in the same row, or printed elsewhere for the same encoder. The papers' code averages two-decimal
    scores (methods 2.2), so the mean of the printed parts is exact. If an average is computed from unrounded scores, or
    if the parts are printed with fewer decimals, rounding of the parts can explain a difference.
    """
    of_encoders = defaultdict(list)
    for printed in measured_cells(study):
        of_encoders[printed.cell.item.paper, printed.cell.encoders].append(printed)
    for item in study.items:
        cells = list(measured_cells(study, item))
        for printed in cells:
            cell = printed.cell
            average = datasets.averages.get(cell.metric_path)
            # The average of a statistic other than the mean is not the statistic of the average.
            is_linear = printed.reported.statistic in LINEAR and cell.column.over == Over()
            if average is None or not is_linear:
                continue
            parts = _parts_in_row(printed, average, cells)
            if not parts:
                parts = _parts_elsewhere(printed, average, of_encoders[cell.item.paper, cell.encoders])
            if len(parts) == average.parts:
                yield from _check_average(study, printed, parts)


def _parts_in_row(
    printed: PrintedCell, average: TaskAverage, cells: Sequence[PrintedCell]
) -> list[PrintedCell]:
    """Return the parts of an average printed in the same row."""
    parts = []
    for other in cells:
        is_in_row = other.cell.row.id == printed.cell.row.id and other.statistic == printed.statistic
        if is_in_row and other.cell.metric_path in average.paths:
            parts.append(other)
    return parts


def _parts_elsewhere(
    printed: PrintedCell, average: TaskAverage, cells: Sequence[PrintedCell]
) -> list[PrintedCell]:
    """Return the parts of an average printed in other tables."""
    parts = {}
    for other in cells:
        is_part = other.cell.metric_path in average.paths and other.statistic == printed.statistic
        if is_part and other.cell.encoders:
            parts[other.cell.metric_path] = other
    return list(parts.values())


def _check_average(study: Study, printed: PrintedCell, parts: Sequence[PrintedCell]) -> Iterator[Finding]:
    number = printed.number
    mean = sum((part.number.exact for part in parts), Fraction()) / len(parts)
    room = sum((part.number.half for part in parts), Fraction()) / len(parts)
    gap = abs(number.exact - mean) - number.half
    has_coarse_part = any(part.number.half > number.half for part in parts)
    if gap > (room if has_coarse_part else 0):
        follows = f"{number.text(mean)}, the mean of the {len(parts)} printed parts"
        certainty = CERTAIN if gap > room else "unless the parts were averaged before they were rounded"
        yield finding(study, "average", [printed, *parts], follows, certainty)


def printed_differences(study: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed differences that are not minuend minus subtrahend."""
    cells: dict[CellId, Cell] = {}
    for item in study.items:
        for described in study.described(item):
            cells[described.id] = described
    for difference, minuend_key, other in differences(study.papers):
        if difference not in cells or minuend_key not in cells:
            continue
        cell, minuend = printed_cell(cells[difference]), printed_cell(cells[minuend_key])
        subtracted = cells[difference].subtracted
        if cell is None or minuend is None or subtracted is None or subtracted.number is None:
            continue
        expected = minuend.number.exact - subtracted.number.exact
        gap = abs(cell.number.exact - expected) - cell.number.half
        if gap > 0:
            sign = "+" if expected > 0 else ""
            # The paper knew the other paper's number only as printed, so rounding of it explains nothing.
            yield finding(
                study,
                "difference",
                [cell, minuend],
                f"{sign}{cell.number.text(expected)}, which is {minuend.reported.value} minus {subtracted.value}",
                CERTAIN if gap > minuend.number.half else UNROUNDED,
                further=(other,),
            )


def derived_numbers(study: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed numbers that differ from the formula of their column.

    If the formula was applied to unrounded numbers, or to numbers with fewer decimals than the result, rounding can
    explain a difference.
    """
    for item in study.items:
        cells = list(measured_cells(study, item))
        for printed in cells:
            column = printed.cell.column
            if column.kind != "derived" or column.over != Over():
                continue
            # The mean of quotients is not the quotient of means.
            statistic = printed.reported.statistic
            is_applicable = statistic == "single" or (statistic in LINEAR and column.parsed.linear)
            operands = _operands(printed, column, cells)
            if is_applicable and len(operands) == len(column.parsed.names):
                yield from _check_formula(study, printed, column, operands)


def _operands(printed: PrintedCell, column: Derived, cells: Sequence[PrintedCell]) -> dict[str, PrintedCell]:
    """Return the printed operands of the formula of a cell, by name."""
    operands = {}
    for other in cells:
        if other.statistic != printed.statistic:
            continue
        for name, (row, column_id) in column.reads.items():
            if (other.cell.row.id, other.cell.column.id) == (row or printed.cell.row.id, column_id):
                operands[name] = other
    return operands


def _check_formula(
    study: Study, printed: PrintedCell, column: Derived, operands: Mapping[str, PrintedCell]
) -> Iterator[Finding]:
    number = printed.number
    try:
        result = apply_formula(column.parsed, {name: other.number for name, other in operands.items()})
    except ZeroDivisionError:
        return
    gap = abs(number.exact - result.exact) - number.half
    has_coarse_operand = any(other.number.half > number.half for other in operands.values())
    if gap > (result.half if has_coarse_operand else 0):
        shown = column.formula
        for name, other in operands.items():
            shown = shown.replace(f"{{{name}}}", other.reported.value)
        yield finding(
            study,
            "derived",
            [printed, *operands.values()],
            f"{number.text(result.exact)}, which is {shown}",
            CERTAIN if gap > result.half else UNROUNDED,
        )


def equal_cells(study: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers that a paper prints differently for the same encoder.

    The metric is the same too. A number that is quoted from elsewhere can differ from the paper's own measurement, but
    not from the same quotation.
    """
    groups: dict[tuple[Any, ...], list[PrintedCell]] = {}
    for printed in measured_cells(study):
        cell, source = printed.cell, quotation(printed.reported)
        encoder = cell.encoders or (source and (cell.row.id, cell.row.label))
        if encoder and cell.metric_path:
            metric = datasets.one_name(cell.metric_path)
            key = (cell.item.paper, encoder, metric, cell.column.metric, source, printed.statistic)
            groups.setdefault(key, []).append(printed)
    for group in groups.values():
        numbers = sorted((each.number for each in group), key=lambda number: number.exact)
        if all(first.agrees(second) for first, second in itertools.combinations(numbers, 2)):
            continue
        low, high = numbers[0], numbers[-1]
        is_certain = high.exact - low.exact > high.half + low.half
        yield finding(
            study,
            "equal",
            group,
            "one number: the same encoder and metric",
            CERTAIN if is_certain else "unless one number was rounded in two ways",
            printed=", ".join(f"{each.reported.value} ({each.place})" for each in group),
            against=(),
        )


def percentages(study: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield percentages that are not possible for the number of test items."""
    for printed in measured_cells(study):
        cell, reported, number = printed
        readings = datasets.readings(cell.metric_path)
        is_single = reported.statistic == "single" and cell.column.over == Over()
        if not readings or not is_single or number.share_of(readings[0].items):
            continue
        items, what = readings[0].items, readings[0].what
        below = math.floor(number.exact * items / 100)
        low = number.text(Fraction(100 * below, items))
        high = number.text(Fraction(100 * (below + 1), items))
        others = [f"{other.items} {other.what}" for other in readings[1:] if number.share_of(other.items)]
        note = ""
        if others:
            note = f"possible for {' or '.join(others)}"
        yield finding(
            study,
            "percentage",
            [printed],
            f"{low} or {high}, which are {below} and {below + 1} of {items} {what}",
            _possible_reason(number, items),
            note=note,
        )


def _possible_reason(number: Rounded, items: int) -> str:
    """Return why an impossible percentage could be correct.

    Reasons are an added zero, truncation, or several runs.
    """
    shorter = Rounded(number.value, float(10 * number.half))
    if number.exact % (2 * shorter.half) == 0 and shorter.share_of(items):
        return f"unless {shorter.text(number.exact)} was printed with an extra zero"
    truncated = Rounded(float(number.exact + number.half), number.half_digit)
    if truncated.share_of(items):
        return "unless truncated instead of rounded"
    runs = next(runs for runs in itertools.count(2) if number.share_of(items * runs))
    return f"unless it is the average of {runs} or more runs"


def sizes(study: Study, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed dataset sizes that differ from the dataset."""
    for printed in measured_cells(study):
        number, parts = printed.number, datasets.parts(printed.cell.metric_path)
        counted = sum(parts.values())
        if parts and abs(number.exact - counted) > number.half:
            alike = [name for name, size in parts.items() if name and size == number.exact]
            note = ""
            if alike:
                note = f"the size of {' or '.join(alike)} alone"
            follows = f"{counted:,}, counted on the data"
            yield finding(study, "size", [printed], follows, CERTAIN, note=note, against=("the data",))


RULES = (averages, printed_differences, derived_numbers, equal_cells, percentages, sizes)
