"""A picture of all differences between ours and print: a line per item, a point per cell, each a link to its cell."""

import math
from html import escape

from replicse.registry.suites import is_percentage
from replicse.report.content.cells import show
from replicse.report.content.contents import Report, Section
from replicse.report.content.tables import cell_address, cell_name
from replicse.study.results.table import CellResult, ItemResult

LABELS, WIDTH, LINE, TOP = 190, 560, 15, 22
TICKS = (-50, -10, -3, -1, 0, 1, 3, 10, 50)
EDGE = 60.0


def deltas_svg(report: Report) -> str:
    """Return the picture as SVG, its looks by the report's style sheet; blank where no percentage has a difference.

    Only for scales whose numbers are comparable. The axis is in the printed units, logarithmic beyond one: the
    differences of other metrics have no place on it.
    """
    lines = [
        (section, item, cells)
        for section in report.sections
        for item in (entry.item for entry in section.entries)
        if (cells := [cell for cell in item.described.values() if _is_drawn(cell)])
    ]
    if not lines:
        return ""
    height = TOP + LINE * (len(lines) + 1) + 8
    label = f"Differences of {sum(len(cells) for *_, cells in lines):,} percentages to print, by item"
    parts = [
        f'<svg class="deltas" viewBox="0 0 {LABELS + WIDTH} {height}" role="group" aria-label="{label}">'
    ]
    for tick in TICKS:
        x = f"{_place(tick):.1f}"
        text = f"{tick:+d}".replace("-", "−") if tick else "0"
        parts.append(
            f'<line class="tick{" zero" * (not tick)}" x1="{x}" x2="{x}" y1="{TOP}" y2="{height - LINE - 4}"/>'
        )
        parts.append(f'<text class="tick" x="{x}" y="{TOP - 8}">{text}</text>')
    for place, (section, item, cells) in enumerate(lines):
        parts += _line(section, item, cells, TOP + LINE * (place + 0.75))
    axis = "ours less print, percentage points; linear up to ±1, logarithmic beyond"
    parts.append(f'<text class="axis" x="{LABELS + WIDTH / 2}" y="{height - 3}">{axis}</text>')
    return "".join([*parts, "</svg>"])


def _is_drawn(cell: CellResult) -> bool:
    return cell.delta is not None and math.isfinite(cell.delta) and is_percentage(cell.metric_path)


def _place(delta: float) -> float:
    """Return the place of a difference on the axis."""
    clipped = math.copysign(min(abs(delta), EDGE), delta)
    share = math.copysign(math.log1p(abs(clipped)), clipped) / math.log1p(EDGE)
    return LABELS + WIDTH * (0.5 + 0.48 * share)


def _line(section: Section, item: ItemResult, cells: list[CellResult], y: float) -> list[str]:
    page = f"{section.key}.html"
    anchor = item.item.replace("/", "-")
    parts = [
        f'<a href="{page}#{anchor}"><text class="item" x="{LABELS - 12}" y="{y + 3.5:.1f}">{item.item}</text></a>'
    ]
    for cell in cells:
        name = cell_name(item, cell)
        shown = show(cell, scale="" if item.comparable else item.scale)
        kind = shown.verdict.replace(" ", "-")
        title = escape(f"{name}: {shown.text}")
        parts.append(
            f'<a tabindex="-1" href="{page}#{escape(cell_address(name))}"><circle class="{kind}"'
            f' cx="{_place(cell.delta):.1f}" cy="{y:.1f}"'
            f' r="3.2"><title>{title}</title></circle></a>'
        )
    return parts
