"""Pictures of what a table says apart from its absolute numbers: paired effects, and the order of the rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from replicse.report.content.cells import effect_text, plus_minus
from replicse.report.content.contents import Report
from replicse.report.content.effects import Effect, effects_of
from replicse.report.content.tables import cell_address, cell_name
from replicse.study.results.shape import FEWEST_ROWS, column_values, shape_columns
from replicse.study.results.statistics import mean_and_spread
from replicse.study.results.table import ColumnHead, ItemResult

WIDTH, EDGE = 460, 14
EFFECT, AXIS, KEY = 30, 32, 20  # heights: of an effect with its label, of the axis, of the key
LEFT, RIGHT, LINE, TOP = 180, 280, 19, 40  # the two sides of a slope chart, its lines and its head
STEPS = (1, 2, 5, 10, 20, 50)
MOST_SLOPES = 2


def effects_svg(report: Report) -> str:
    """Return the effects in percentage points, printed next to ours with its interval or seeds; blank for none."""
    effects = [
        (section.page, effect)
        for section in report.sections
        for entry in section.entries
        for effect in effects_of(entry.item)
        if effect.points
    ]
    if not effects:
        return ""
    effects.sort(key=lambda each: each[1].strength, reverse=True)
    ends = [end for _, effect in effects for end in (0.0, effect.printed or 0.0, *_ends(effect))]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def place(value: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (value - low) / span

    height = KEY + EFFECT * len(effects) + AXIS
    label = f"Effects of {len(effects)} rows against the baseline rows of their tables, in print and in ours"
    parts = [
        f'<svg class="effects" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{label}">',
        *_key([effect for _, effect in effects]),
    ]
    bottom = height - AXIS
    step = next((step for step in STEPS if span / step <= 8), STEPS[-1])
    for tick in range(int(low // step), int((low + span) // step) + 1):
        if low <= tick * step <= low + span:
            x, text = f"{place(tick * step):.1f}", f"{tick * step:+d}".replace("-", "−") if tick else "0"
            parts.append(
                f'<line class="tick{" zero" * (not tick)}" x1="{x}" x2="{x}" y1="{KEY}" y2="{bottom}"/>'
            )
            parts.append(f'<text class="tick" x="{x}" y="{bottom + 12}">{text}</text>')
    axis = "points against the baseline row, paired by seed"
    parts.append(f'<text class="axis" x="{WIDTH / 2}" y="{height - 5}">{axis}</text>')
    for number, (page, effect) in enumerate(effects):
        parts += _effect(effect, page, KEY + EFFECT * number, place)
    return "".join([*parts, "</svg>"])


def _ends(effect: Effect) -> tuple[float, ...]:
    ours = effect.ours
    return (ours.low, ours.high) if ours.low is not None and ours.high is not None else ours.by_seed


def _key(effects: Sequence[Effect]) -> Iterator[str]:
    """Yield what the marks mean; those that are not drawn are left out."""
    yield '<line class="range" x1="2" x2="22" y1="7.5" y2="7.5"/><circle cx="12" cy="7.5" r="4"/>'
    yield '<text x="28" y="11">ours, 95% interval or seeds</text>'
    if any(effect.printed is not None for effect in effects):
        yield '<rect class="printed" x="184" y="4" width="7" height="7"/><text x="197" y="11">in print</text>'
    if any(effect.agrees is False for effect in effects):
        yield '<circle class="turned" cx="258" cy="7.5" r="4"/><text x="268" y="11">ours, sign not that in print</text>'


def _effect(effect: Effect, page: str, top: float, place: Callable[[float], float]) -> Iterator[str]:
    """Yield one effect: its name above, and below it the printed square and our point on the axis."""
    y, ours = top + 22, effect.ours
    name = f"{effect.difference}, {effect.column.label}"
    printed = "nothing in print" if effect.printed is None else f"in print {plus_minus(effect.printed)}"
    title = f"{name}: {effect_text(ours)}; {printed}"
    yield f'<a href="{page}#{escape(cell_address(cell_name(effect.item, effect.cell)))}"><title>{escape(title)}</title>'
    yield f'<text class="name" x="2" y="{top + 13}">{escape(name)}<tspan> · {escape(effect.item.item)}</tspan></text>'
    if ours.low is not None and ours.high is not None:
        yield f'<line class="range" x1="{place(ours.low):.1f}" x2="{place(ours.high):.1f}" y1="{y}" y2="{y}"/>'
    else:
        yield from (f'<circle class="seed" cx="{place(each):.1f}" cy="{y}" r="3"/>' for each in ours.by_seed)
    if effect.printed is not None:
        x = place(effect.printed) - 3.5
        yield f'<rect class="printed" x="{x:.1f}" y="{y - 3.5}" width="7" height="7"/>'
    kind = "turned" if effect.agrees is False else "agrees"
    yield f'<circle class="{kind}" cx="{place(ours.mean):.1f}" cy="{y}" r="4"/></a>'


def slopes_svg(report: Report) -> str:
    """Return the order of the rows in print and in ours, a chart for each of the first columns that have one."""
    charts = [
        _slopes(entry.name, column, entry.item)
        for section in report.sections
        for entry in section.entries
        for column in shape_columns(entry.item)
        if len(column_values(entry.item, column)[0]) >= FEWEST_ROWS
    ]
    return "".join(charts[:MOST_SLOPES])


def _slopes(name: str, column: ColumnHead, item: ItemResult) -> str:
    reported, by_seed = column_values(item, column)
    ours = {
        row: mean_and_spread([value for value in values if value is not None])[0]
        for row, values in by_seed.items()
    }
    sides = [_ranked(numbers, column.better) for numbers in (reported, ours)]
    height = TOP + LINE * len(reported) + 4
    title = f"{name}, {column.label}: order of the rows, best first · {item.standing}"
    parts = [
        f'<svg class="slopes" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f'<text class="title" x="2" y="13">{escape(title)}</text>'
        f'<text class="head" x="{LEFT}" y="31" text-anchor="end">in print</text>'
        f'<text class="head" x="{RIGHT}" y="31">ours</text>'
    ]
    for row in reported:
        start, end = (TOP + LINE * (side.index(row) + 0.5) for side in sides)
        label = escape(item.row_names[row])
        kind = "kept" if start == end else "moved"
        parts.append(
            f'<line class="{kind}" x1="{LEFT + 8}" x2="{RIGHT - 8}" y1="{start}" y2="{end}"/>'
            f'<text x="{LEFT}" y="{start + 3.5}" text-anchor="end">{label} {_number(reported[row])}</text>'
            f'<text x="{RIGHT}" y="{end + 3.5}">{_number(ours[row])} {label}</text>'
        )
    return "".join([*parts, "</svg>"])


def _ranked(numbers: Mapping[str, float], better: str) -> Sequence[str]:
    return sorted(numbers, key=lambda row: numbers[row], reverse=better == "higher")


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
