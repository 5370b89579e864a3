"""SVG pictures of a report: differences, effects, orders and gaps."""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from html import escape
from typing import Any

from replicse.judge.report.report_types import ColumnShape, Effect
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.printable import number
from replicse.registry.suites import is_percentage
from replicse.show.content.cell_facts import cell_address
from replicse.show.content.cells import show
from replicse.show.content.contents import Document, Waterfall
from replicse.show.content.numbers import effect_text, plus_minus, tick

# The numbers on the axis of differences, and the largest difference that it can show.
TICKS = (-50, -10, -3, -1, 0, 1, 3, 10, 50)
EDGE = 60.0
# Start and width of each axis in the template.
OF_DELTAS, OF_EFFECTS, OF_GAP = (190, 560), (14, 432), (185, 240)
STEPS = (1, 2, 5, 10, 20, 50)  # possible distances between numbers on the axis of effects
MOST_SLOPES = 2
Place = Callable[[float], float]


def deltas_svg(report: Document) -> str:
    """Draw all differences to the printed numbers.

    There is a line for each item and a point for each cell. The axis is linear up to one point and logarithmic beyond.
    Metrics that are not percentages are skipped.

    Args:
        report: The document of a study whose numbers are comparable.

    Returns:
        An SVG, or "" if no percentage has a difference or all numbers are equal.
    """
    compared: list[tuple[str, ItemResult, list[CellResult]]] = []
    for section in report.sections:
        for item in section.items:
            cells = [cell for cell in item.described.values() if _has_percentage_delta(cell)]
            if cells:
                compared.append((section.page, item, cells))
    every_cell = [cell for _, _, cells in compared for cell in cells]
    if all(cell.verdict == "equal" for cell in every_cell):
        return ""
    largest = max(abs(cell.delta or 0.0) for cell in every_cell)
    edge = min(max(largest, 1.0), EDGE)
    place = partial(_delta_place, edge=edge)
    lines = []
    for page, judged, cells in compared:
        lines.append((page, judged.item, [_point(judged, cell, place) for cell in cells]))
    label = f"Differences of {len(every_cell):,} percentages to the reported numbers, by item"
    ticks = [(place(each), tick(each)) for each in TICKS if abs(each) <= edge]
    return _render("deltas", lines, ticks, label, report.whose)


def _has_percentage_delta(cell: CellResult) -> bool:
    return cell.delta is not None and math.isfinite(cell.delta) and is_percentage(cell.metric_path)


def _delta_place(delta: float, edge: float) -> float:
    """Return the x coordinate of a difference.

    Args:
        delta: the difference in percentage points.
        edge: the difference at the ends of the axis. Larger differences are drawn there.
    """
    clipped = math.copysign(min(abs(delta), edge), delta)
    share = math.copysign(math.log1p(abs(clipped)), clipped) / math.log1p(edge)
    start, width = OF_DELTAS
    return start + width * (0.5 + 0.48 * share)


def _point(item: ItemResult, cell: CellResult, place: Place) -> dict[str, Any]:
    name = item.name_of(item.id_of(cell))
    shown = show(cell, scale="" if item.comparable else item.scale)
    return {
        "address": cell_address(name),
        "x": place(cell.delta or 0.0),
        "kind": shown.verdict.replace(" ", "-"),
        "title": f"{name}: {shown.text}",
    }


def effects_svg(report: Document) -> str:
    """Draw the effects of rows in percentage points, printed and ours.

    Args:
        report: The document.

    Returns:
        An SVG with a line for each effect, the strongest first, or "" if there are no effects.
    """
    effects: list[tuple[str, Effect]] = []
    ends: list[float] = []
    for section in report.sections:
        for item in section.items:
            for effect in item.effects:
                if effect.points:
                    address = f"{section.page}#{cell_address(item.name_of(effect.cell))}"
                    effects.append((address, effect))
                    ends += [effect.printed or 0.0, *_ends(effect)]
    if not effects:
        return ""
    effects.sort(key=lambda each: each[1].strength, reverse=True)
    low, span, place = _axis(ends, *OF_EFFECTS)
    step = next((step for step in STEPS if span / step <= 8), STEPS[-1])
    ticks = []
    for index in range(int(low // step), int((low + span) // step) + 1):
        if low <= index * step <= low + span:
            ticks.append((place(index * step), tick(index * step)))
    drawn = [_effect(effect, address, place) for address, effect in effects]
    return _render("effects", drawn, ticks)


def _axis(ends: list[float], start: float, width: float) -> tuple[float, float, Place]:
    """Create an axis that contains zero and some numbers.

    Args:
        ends: The numbers.
        start: The x coordinate of the lowest number.
        width: The width of the axis.

    Returns:
        The lowest number, the range of the numbers, and a function from a number to the x coordinate.
    """
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = (high - low) or 1.0
    return low, span, lambda value: start + width * (value - low) / span


def _ends(effect: Effect) -> tuple[float, ...]:
    ours = effect.ours
    if ours.low is None or ours.high is None:
        return ours.by_seed
    return ours.low, ours.high


def _effect(effect: Effect, link: str, place: Place) -> dict[str, Any]:
    """Return the coordinates and texts of an effect for the template."""
    ours = effect.ours
    name = f"{effect.difference}, {effect.column}"
    if effect.backbones:
        name += f", {effect.over}"
    title = f"{name}: {effect_text(ours)}; not in print"
    printed: float | None = None
    if effect.printed is not None:
        title = f"{name}: {effect_text(ours)}; in print {plus_minus(effect.printed)}"
        printed = place(effect.printed)
    return {
        "link": link,
        "name": name,
        "item": effect.item,
        "title": title,
        "ends": list(map(place, _ends(effect))),
        "interval": ours.low is not None,
        "printed": printed,
        "ours": place(ours.mean),
        "kind": "turned" if effect.agrees is False else "agrees",
    }


def slopes_svg(report: Document) -> str:
    """Draw the orders of rows in print and in ours.

    Args:
        report: The document.

    Returns:
        An SVG for each of the first MOST_SLOPES columns with an order.
    """
    entries = {entry.item.item: entry for section in report.sections for entry in section.entries}
    pictures = []
    for shape in report.shapes[:MOST_SLOPES]:
        entry = entries[shape.item]
        title = f"{entry.name}, {shape.label}: order of the rows, best first · {entry.item.standing}"
        pictures.append(_render("slopes", title, list(_slopes(shape, entry.item))))
    return "".join(pictures)


def _slopes(shape: ColumnShape, item: ItemResult) -> Iterator[dict[str, Any]]:
    """Yield the y coordinates and numbers of each row."""
    for row in shape.printed:
        yield {
            "label": item.row_names[row],
            "start": 40 + 19 * (shape.order_printed.index(row) + 0.5),
            "end": 40 + 19 * (shape.order_ours.index(row) + 0.5),
            "printed": number(shape.printed[row]),
            "ours": number(shape.ours[row]),
        }


def waterfall_svg(fall: Waterfall) -> str:
    """Draw a waterfall, such as the effects of variants and a printed gap."""
    ends: list[float] = []
    for step in fall.steps:
        ends += [step.start, step.end]
        ends += [bound for bound in (step.low, step.high) if bound is not None]
    _, _, place = _axis(ends, *OF_GAP)
    return _render("waterfall", fall, place)


def _render(picture: str, *facts: object) -> str:
    """Render a macro of the template without line breaks."""
    return "".join(getattr(_pictures(), picture)(*facts).splitlines())


@cache
def _pictures() -> Any:
    from replicse.show.formats import templates

    environment = templates()
    environment.filters |= {"escaped": escape, "tenth": "{:.1f}".format}
    return environment.get_template("pictures.svg.j2").module
