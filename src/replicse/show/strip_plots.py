"""Strip plots: what others measured next to printed numbers, and effects in order."""

import textwrap
from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

from replicse.judge.report.report_types import JudgedItem
from replicse.judge.verdicts.others import SourceResult
from replicse.registry.suites import is_percentage
from replicse.show.canvas import INK, QUIET, canvas
from replicse.show.content.numbers import tick
from replicse.show.looks import handle, put_legend, row_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
# What others measured: the deciding source, other sources in the printed setting, released checkpoints, other settings.
SOURCES: dict[str, dict[str, Any]] = {
    "decides": {"marker": "o", "color": BLUE, "label": "source with most seeds: each seed"},
    "source": {"marker": "s", "color": ORANGE, "label": "other sources"},
    "released": {"marker": "D", "color": GREEN, "label": "released checkpoint"},
    "other": {"marker": ".", "color": QUIET, "label": "other settings"},
}
EXPECTED: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 6, "label": "one more run, 95%"}
PRINTED: dict[str, Any] = {"color": INK, "linewidth": 0.8, "label": "printed"}
# Of effects: a colour and a marker for each encoder, how far its points are apart in a line, and ticks of the axis.
ENCODERS = ((BLUE, "o"), (ORANGE, "D"), (QUIET, "s"))
APART = 0.22
TICKS = (-30, -5, -1, 0, 1, 5, 30)


def readings_records(item: JudgedItem) -> Iterator[dict[str, Any]]:
    """Yield what others measured in the printed setting, less the printed number, by row: percentages alone.

    Of a table with an average the average alone is shown. `low` and `high` bound one more run of the deciding source.
    """
    measured = [column for column in item.columns if is_percentage(column.metric_path)]
    averages = [column for column in measured if column.average]
    for column in averages or measured:
        for row in item.rows:
            name = item.id_at(row.id, column)
            cell = item.described.get(name)
            if cell is None or cell.reported is None or cell.printed is None:
                continue
            label = item.row_names[row.id].lstrip("* ")
            label += "" if len(averages or measured) == 1 else f", {column.label}"
            group = f"{label} {cell.reported.value}"
            for result in item.others.get(str(name), ()):
                if result.is_printed:
                    yield from _points(result, cell.printed, group)


def _points(result: SourceResult, printed: float, group: str) -> Iterator[dict[str, Any]]:
    kind = "decides" if result.decides and result.trained else "source" if result.trained else "released"
    bounds = (result.low, result.high) if kind == "decides" else (None, None)
    low, high = (None if bound is None else bound - printed for bound in bounds)
    for value in result.values:
        point = {"group": group, "label": result.source, "source": kind, "value": float(value) - printed}
        yield {**point, "low": low, "high": high}


def readings_plot(records: "DataFrame") -> "Figure":
    """Draw one line for each row: what others measured, less the printed number, which is the vertical line.

    Records: group (the row with its printed number), label (the source), source (decides, source, released), value, low
    and high.
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
    shown = [
        {"linestyle": "", "markersize": 3.5, **look}
        for kind, look in SOURCES.items()
        if kind in set(records["source"])
    ]
    bands = [EXPECTED] if records["low"].notna().any() else []
    put_legend(figure, [handle(**look) for look in (PRINTED, *shown, *bands)], columns=2)
    return figure


def effect_plot(records: "DataFrame") -> "Figure":
    """Draw effects with their intervals, a line for each variant, the largest loss first: a colour for each encoder.

    Records: group (the encoder), row (the variant), value, low, high (None where the effect is exact); metric, the
    label of the axis, where it is not the STS average.
    """
    groups = list(dict.fromkeys(records["group"]))
    rows = list(records.groupby("row")["value"].mean().sort_values().index)
    names, height = row_names(rows)
    figure = canvas(0.9 + height * len(rows))
    axes = figure.subplots()
    # Before anything is drawn: margins are shares of this scale.
    axes.set_xscale("symlog", linthresh=1)
    axes.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    looks = dict(zip(groups, cycle(ENCODERS)))
    for number, (group, (color, marker)) in enumerate(looks.items()):
        part = records[records["group"] == group].drop_duplicates("row")
        shift = APART * (number - (len(groups) - 1) / 2)
        places = [rows.index(row) + shift for row in part["row"]]
        axes.hlines(places, part["low"], part["high"], color=color, linewidth=3, alpha=0.3)
        axes.plot(part["value"], places, marker, color=color, markersize=3)
    axes.set_yticks(range(len(rows)), names)
    low, high = axes.get_xlim()
    ticks = [place for place in TICKS if low <= place <= high]
    axes.set_xticks(ticks, list(map(tick, ticks)))
    axes.minorticks_off()
    label = records["metric"].iloc[0] if "metric" in records else "effect in points of the STS average"
    scale = textwrap.fill(f"{label} (linear between \N{MINUS SIGN}1 and 1)", 36)
    axes.set(xlabel=scale, ylim=(len(rows) - 0.4, -0.6))
    handles = [
        handle(label=group, color=color, marker=marker, markersize=3, linestyle="")
        for group, (color, marker) in looks.items()
    ]
    if records["low"].notna().any():
        handles.append(handle(label="95% interval", color=QUIET, linewidth=3, alpha=0.3))
    put_legend(figure, handles, columns=4)
    return figure
