"""Strip plots of published measurements and of effects."""

import textwrap
from collections.abc import Iterator
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any

from replicse.judge.report.report_types import JudgedItem
from replicse.judge.verdicts.others import SourceResult
from replicse.printable import number
from replicse.registry.suites import is_percentage
from replicse.show.canvas import INK, QUIET, canvas
from replicse.show.looks import handle, put_legend, row_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
# Kinds of measurements: the source with most seeds, other sources, released checkpoints, other settings.
SOURCES: dict[str, dict[str, Any]] = {
    "decides": {"marker": "o", "color": BLUE, "label": "source with most seeds: each seed"},
    "source": {"marker": "s", "color": ORANGE, "label": "other sources"},
    "released": {"marker": "D", "color": GREEN, "label": "released checkpoint"},
    "other": {"marker": ".", "color": QUIET, "label": "other settings"},
}
EXPECTED: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 6, "label": "95% prediction interval"}
PRINTED: dict[str, Any] = {"color": INK, "linewidth": 0.8, "label": "printed"}
# Colour and marker of each encoder in a plot of effects, and the distance between encoders in a line.
ENCODERS = ((BLUE, "o"), (ORANGE, "D"), (QUIET, "s"))
APART = 0.22
# At most one in PART_BEYOND effects is beyond the axis. The axis ends at MARGIN times the largest other effect.
PART_BEYOND, MARGIN = 3, 1.08


def readings_records(item: JudgedItem) -> Iterator[dict[str, Any]]:
    """Yield measurements by others in the printed setting, by row.

    Only percentages are used, and only the averages if the table has averages.

    Args:
        item: The judged item.

    Yields:
        Dicts with the keys of `readings_plot`. Values are minus the printed number. `low` and `high` are the 95%
        prediction interval of the source that decides the verdict.
    """
    columns = [column for column in item.columns if is_percentage(column.metric_path)]
    averages = [column for column in columns if column.average]
    columns = averages or columns
    for column in columns:
        for row in item.rows:
            name = item.id_at(row.id, column)
            cell = item.described.get(name)
            if cell is None or cell.reported is None or cell.printed is None:
                continue
            label = item.row_names[row.id].lstrip("* ")
            if len(columns) > 1:
                label += f", {column.label}"
            group = f"{label} {cell.reported.value}"
            for result in item.others.get(str(name), ()):
                if result.is_printed:
                    yield from _points(result, cell.printed, group)


def _points(result: SourceResult, printed: float, group: str) -> Iterator[dict[str, Any]]:
    kind = "source" if result.trained else "released"
    low: float | None = None
    high: float | None = None
    if result.trained and result.decides:
        kind = "decides"
        if result.low is not None:
            low = result.low - printed
        if result.high is not None:
            high = result.high - printed
    for value in result.values:
        point = {"group": group, "label": result.source, "source": kind, "value": float(value) - printed}
        yield {**point, "low": low, "high": high}


def readings_plot(records: "DataFrame") -> "Figure":
    """Draw measurements by others minus the printed number, a line per row.

    A vertical line is the printed number.

    Args:
        records: A row for each value with the columns group (the row and the printed number), label (the source),
            source (decides, source, released), value, low and high.
    """
    groups = list(dict.fromkeys(records["group"]))
    names, height = row_names(groups)
    figure = canvas(0.9 + (0.12 + height) * len(groups))
    axes = figure.subplots()
    axes.axvline(0, zorder=0, color=PRINTED["color"], linewidth=PRINTED["linewidth"])
    for place, group in enumerate(groups):
        part = records[records["group"] == group]
        for low, high in part[["low", "high"]].dropna().drop_duplicates().itertuples(index=False):
            axes.hlines(place, low, high, zorder=1, **EXPECTED)
        for kind, look in SOURCES.items():
            values = part[part["source"] == kind]["value"]
            if len(values):
                axes.plot(values, [place] * len(values), linestyle="", markersize=3.5, alpha=0.9, **look)
    axes.set_yticks(range(len(groups)), names)
    axes.set(xlabel="measured less printed, points", ylim=(len(groups) - 0.5, -0.5))
    handles = [handle(**PRINTED)]
    for kind, look in SOURCES.items():
        if kind in set(records["source"]):
            handles.append(handle(linestyle="", markersize=3.5, **look))
    if records["low"].notna().any():
        handles.append(handle(**EXPECTED))
    put_legend(figure, handles, columns=2)
    return figure


def effect_plot(records: "DataFrame") -> "Figure":
    """Draw effects with intervals, a line per variant, largest loss first.

    Args:
        records: A row for each effect with the columns group (the encoder, which has a colour), row (the variant),
            value, low and high (None if the effect is exact), and optionally metric (the label of the axis; default:
            points of the STS average).
    """
    groups = list(dict.fromkeys(records["group"]))
    rows = list(records.groupby("row")["value"].mean().sort_values().index)
    names, height = row_names(rows)
    figure = canvas(0.9 + height * len(rows))
    axes = figure.subplots()
    limit = axis_limit(records)
    axes.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    looks = dict(zip(groups, cycle(ENCODERS)))
    for order, (group, (color, marker)) in enumerate(looks.items()):
        part = records[records["group"] == group].drop_duplicates("row")
        shift = APART * (order - (len(groups) - 1) / 2)
        for row, value, low, high in part[["row", "value", "low", "high"]].itertuples(index=False):
            _put_effect(axes, rows.index(row) + shift, (value, low, high), limit, (color, marker))
    axes.set_yticks(range(len(rows)), names)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: number_text(value))
    label = records["metric"].iloc[0] if "metric" in records else "effect in points of the STS average"
    axes.set(xlabel=textwrap.fill(label, 36), ylim=(len(rows) - 0.4, -0.6))
    handles = []
    for group, (color, marker) in looks.items():
        handles.append(handle(label=group, color=color, marker=marker, markersize=3, linestyle=""))
    if records["low"].notna().any():
        handles.append(handle(label="95% interval", color=QUIET, linewidth=3, alpha=0.3))
    put_legend(figure, handles, columns=4)
    return figure


def number_text(value: float) -> str:
    """Format a number for an axis with a sign, unless it is zero."""
    return number(value, "+g") if value else "0"


def axis_limit(records: "DataFrame") -> float:
    """Return the largest absolute value on the axis of effects.

    Effects that are more than twice as large as all others are beyond the limit, so that the others can be
    distinguished.
    """
    reach = records[["value", "low", "high"]].abs().max(axis=1)
    ends = sorted(reach.groupby(records["row"]).max(), reverse=True)
    limit = ends[0]
    beyond = len(ends) // PART_BEYOND
    for larger, smaller in pairwise(ends[: beyond + 1]):
        if larger > 2 * smaller > 0:
            limit = smaller
    return MARGIN * limit


def _put_effect(
    axes: "Axes", place: float, effect: tuple[float, float, float], limit: float, look: tuple[str, str]
) -> None:
    """Draw an effect with an interval.

    If the effect is beyond the limit of the axis, draw an arrow and the number.
    """
    (value, low, high), (color, marker) = effect, look
    if abs(value) > limit:
        edge, arrow, shift, side = limit, ">", -5, "right"
        if value < 0:
            edge, arrow, shift, side = -limit, "<", 5, "left"
        axes.plot([edge], [place], arrow, color=color, markersize=4)
        text: dict[str, Any] = {"xytext": (shift, 0), "textcoords": "offset points", "fontsize": 6.5}
        axes.annotate(number(value, "+.1f"), (edge, place), color=color, ha=side, va="center", **text)
        return
    axes.hlines(place, max(low, -limit), min(high, limit), color=color, linewidth=3, alpha=0.3)
    axes.plot([value], [place], marker, color=color, markersize=3)
