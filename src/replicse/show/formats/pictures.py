"""Pictures of a report as SVG, drawn by a template: differences to print, paired effects, orders of rows, one gap."""

import math
from collections.abc import Callable, Iterator
from functools import cache
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

# Of differences: where their axis has a number, and where it ends.
TICKS = (-50, -10, -3, -1, 0, 1, 3, 10, 50)
EDGE = 60.0
# Where the template has the axes: start and width.
OF_DELTAS, OF_EFFECTS, OF_GAP = (190, 560), (14, 432), (185, 240)
STEPS = (1, 2, 5, 10, 20, 50)  # of the axis of effects
MOST_SLOPES = 2
Place = Callable[[float], float]


def deltas_svg(report: Document) -> str:
    """Draw all differences to the printed numbers, a line per item and a point per cell.

    Return an empty string if no percentage has a difference, or all numbers are equal.
    Only for scales whose numbers are comparable. The axis is in the printed units, logarithmic beyond one: the
    differences of other metrics have no place on it.
    """
    lines = [
        (section, item, cells)
        for section in report.sections
        for item in (entry.item for entry in section.entries)
        if (cells := [(cell, x) for cell in item.described.values() if (x := _delta(cell)) is not None])
    ]
    if not any(_is_shown(cell) for *_, cells in lines for cell, _ in cells):
        return ""
    label = f"Differences of {sum(len(cells) for *_, cells in lines):,} percentages to print, by item"
    ticks = [(_delta_place(each), tick(each)) for each in TICKS]
    drawn = [
        (section.page, item.item, [_point(item, cell, delta) for cell, delta in cells])
        for section, item, cells in lines
    ]
    return _drawn("deltas", drawn, ticks, label, report.whose)


def _delta(cell: CellResult) -> float | None:
    """Return the difference of a cell to print; None where it is not drawn."""
    delta = cell.delta
    return delta if delta is not None and math.isfinite(delta) and is_percentage(cell.metric_path) else None


def _is_shown(cell: CellResult) -> bool:
    """Return whether a difference says more than that two numbers are equal."""
    return cell.verdict != "equal"


def _delta_place(delta: float) -> float:
    """Return the place of a difference on the axis."""
    clipped = math.copysign(min(abs(delta), EDGE), delta)
    share = math.copysign(math.log1p(abs(clipped)), clipped) / math.log1p(EDGE)
    start, width = OF_DELTAS
    return start + width * (0.5 + 0.48 * share)


def _point(item: ItemResult, cell: CellResult, delta: float) -> dict[str, Any]:
    name = item.name_of(item.id_of(cell))
    shown = show(cell, scale="" if item.comparable else item.scale)
    place = {"address": cell_address(name), "x": _delta_place(delta)}
    return {**place, "kind": shown.verdict.replace(" ", "-"), "title": f"{name}: {shown.text}"}


def effects_svg(report: Document) -> str:
    """Return the effects in percentage points, printed next to ours with its interval or seeds; blank for none."""
    effects = [
        (f"{section.page}#{_address(entry.item, effect)}", effect)
        for section in report.sections
        for entry in section.entries
        for effect in entry.item.effects
        if effect.points
    ]
    if not effects:
        return ""
    effects.sort(key=lambda each: each[1].strength, reverse=True)
    ends = [end for _, effect in effects for end in (effect.printed or 0.0, *_ends(effect))]
    low, span, place = _axis(ends, *OF_EFFECTS)
    step = next((step for step in STEPS if span / step <= 8), STEPS[-1])
    numbers = [tick * step for tick in range(int(low // step), int((low + span) // step) + 1)]
    ticks = [(place(each), tick(each)) for each in numbers if low <= each <= low + span]
    return _drawn("effects", [_effect(effect, link, place) for link, effect in effects], ticks)


def _address(item: ItemResult, effect: Effect) -> str:
    return cell_address(item.name_of(effect.cell))


def _axis(ends: list[float], start: float, width: float) -> tuple[float, float, Place]:
    """Return lowest end and span of an axis that holds some numbers and zero, and where it has a number."""
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = (high - low) or 1.0
    return low, span, lambda value: start + width * (value - low) / span


def _ends(effect: Effect) -> tuple[float, ...]:
    ours = effect.ours
    return (ours.low, ours.high) if ours.low is not None and ours.high is not None else ours.by_seed


def _effect(effect: Effect, link: str, place: Place) -> dict[str, Any]:
    """Return what is drawn of an effect: the printed square, our point, its interval or seeds, and its names."""
    ours = effect.ours
    name = f"{effect.difference}, {effect.column}{f', {effect.over}' * bool(effect.backbones)}"
    printed = "nothing in print" if effect.printed is None else f"in print {plus_minus(effect.printed)}"
    return {
        "link": link,
        "name": name,
        "item": effect.item,
        "title": f"{name}: {effect_text(ours)}; {printed}",
        "ends": list(map(place, _ends(effect))),
        "interval": ours.low is not None,
        "printed": None if effect.printed is None else place(effect.printed),
        "ours": place(ours.mean),
        "kind": "turned" if effect.agrees is False else "agrees",
    }


def slopes_svg(report: Document) -> str:
    """Return the order of the rows in print and in ours, a chart for each of the first columns that have one."""
    entries = {entry.item.item: entry for section in report.sections for entry in section.entries}
    drawn = []
    for shape in report.shapes[:MOST_SLOPES]:
        entry = entries[shape.item]
        title = f"{entry.name}, {shape.label}: order of the rows, best first · {entry.item.standing}"
        drawn.append(_drawn("slopes", title, list(_slopes(shape, entry.item))))
    return "".join(drawn)


def _slopes(shape: ColumnShape, item: ItemResult) -> Iterator[dict[str, Any]]:
    """Yield each row's place and number in print and in ours."""
    for row in shape.printed:
        start, end = (40 + 19 * (side.index(row) + 0.5) for side in (shape.order_printed, shape.order_ours))
        numbers = {"printed": number(shape.printed[row]), "ours": number(shape.ours[row])}
        yield {"label": item.row_names[row], "start": start, "end": end, **numbers}


def waterfall_svg(fall: Waterfall) -> str:
    """Return the effect of each variant on top of the others, against the printed gap."""
    ends = [
        end for step in fall.steps for end in (step.start, step.end, step.low, step.high) if end is not None
    ]
    _, _, place = _axis(ends, *OF_GAP)
    return _drawn("waterfall", fall, place)


def _drawn(picture: str, *facts: object) -> str:
    """Return what the template draws; a line of it is an element."""
    return "".join(getattr(_pictures(), picture)(*facts).splitlines())


@cache
def _pictures() -> Any:
    from replicse.show.formats import templates

    environment = templates()
    environment.filters |= {"escaped": escape, "tenth": "{:.1f}".format}
    return environment.get_template("pictures.svg.j2").module
