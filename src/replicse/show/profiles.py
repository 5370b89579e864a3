"""Figures of printed and reproduced numbers: profiles, bars, heat maps."""

import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from replicse.show.canvas import INK, QUIET, canvas
from replicse.show.content.records import SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
from replicse.show.looks import COLOURS, ONE_SEED, fill_one_axis, handle, panel_grid, put_legend, row_names

# Total number of characters in the labels of an x axis.
TICKS = 44


def profile(records: "DataFrame") -> "Figure":
    """Draw a column over ordered rows, with printed and reproduced lines.

    Lines connect rows whose names are numbers (`0.1`, `p = 0.1`), but not other rows (`Fixed 0.1`). If records have a
    group, there is a panel for each group. Panels share the y axis if all of them stay readable.

    Args:
        records: A row for each row of the table, in order, with the columns row, reported, reproduced, low, high (None
            if missing), metric, seeds (a tuple of numbers, empty if there are enough for an interval) and optionally
            group.
    """
    parts = _panels(records)
    shared = fill_one_axis([part[list(SOURCES)].to_numpy() for _, part in parts])
    figure, grid, _ = panel_grid(len(parts), 1, (0.4, 1.7), sharey=shared)
    for axes, (group, part) in zip(grid, parts, strict=True):
        joined = part["row"].str.fullmatch(r"(\S+ ?= ?)?[-+−]?\d*\.?\d+(e-?\d+)?%?")
        for source, colour, _, fill in LOOKS:
            dashes: Any = "-" if fill else (0, (4, 2))
            values = part[source].where(joined)
            axes.plot(part.index, values, color=colour, linestyle=dashes, zorder=2)
        _beside(axes, part, upright=True)
        name = _shared_name(part)
        wrap = textwrap.TextWrapper(TICKS // len(part), break_long_words=False).fill
        axes.set_xticks(part.index, part["row"].str.removeprefix(name).map(wrap))
        axes.set_xlabel(name.rstrip(" ="))
        axes.set_title(group)
        label = records["metric"].iloc[0]
        if not shared:
            label += "\non its own scale"
        axes.set(ylabel=label)
        axes.margins(x=0.06)
    _legend(figure, records)
    return figure


def _shared_name(records: "DataFrame") -> str:
    """Return a prefix of all rows, such as `λ = `, for the axis label.

    Labels would overlap if each of them contained the prefix.
    """
    prefix = re.match(r"\S+ ?= ?", records["row"].iloc[0])
    if prefix and records["row"].str.startswith(prefix[0]).all():
        return prefix[0]
    return ""


def bars(records: "DataFrame") -> "Figure":
    """Draw columns row by row: the printed number, ours and the interval.

    Args:
        records: Records as for `profile`; there is a panel for each group.
    """
    parts = _panels(records)
    rows = list(max([part for _, part in parts], key=len)["row"])
    names, height = row_names(rows)
    figure, grid, _ = panel_grid(len(parts), 1, (0.3, 0.4 + height * len(rows)))
    for axes, (_, part) in zip(grid, parts, strict=True):
        # The position where a row is missing in a panel stays empty.
        places = range(len(rows)) if len(part) == len(rows) else list(map(rows.index, part["row"]))
        part = part.set_axis(places)
        axes.hlines(part.index, part["reported"], part["reproduced"], color=QUIET, linewidth=0.8, zorder=1)
        _beside(axes, part, upright=False)
        axes.set_yticks(range(len(rows)), names)
        axes.set(xlabel=part["metric"].iloc[0], ylim=(len(rows) - 0.4, -0.6))
    _legend(figure, records)
    return figure


def heat(records: "DataFrame") -> "Figure":
    """Draw a heat map of numbers by row and column, the first row lowest.

    Args:
        records: A row for each cell with the columns row, column, value and metric.
    """
    rows, columns = list(records["row"].unique()), list(records["column"].unique())
    grid = records.pivot_table(index="row", columns="column", values="value").loc[rows, columns].to_numpy()
    figure = canvas(2.2)
    axes = figure.subplots()
    axes.imshow(grid, origin="lower", cmap="cividis", vmin=0, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        ink = "white" if value < np.nanmax(grid) / 2 else INK
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set(xlabel=f"predicted; in each cell the {records['metric'].iloc[0]}")
    return figure


# Source, colour, marker, and whether the marker is filled. Printed numbers are hollow and dashed.
LOOKS = (("reported", QUIET, "s", False), ("reproduced", COLOURS[0], "o", True))
ONE_MORE: dict[str, Any] = {"color": COLOURS[0], "linewidth": 4, "alpha": 0.25}


def _panels(records: "DataFrame") -> "list[tuple[str, DataFrame]]":
    """Return pairs of group and records; without groups, one pair."""
    if "group" in records:
        return list(records.groupby("group", sort=False))
    return [("", records)]


def _beside(axes: "Axes", records: "DataFrame", upright: bool) -> None:
    """Draw both numbers of each row with the interval or the seeds.

    Args:
        axes: The panel.
        records: Records whose index contains the positions of the rows.
        upright: Whether rows are on the x axis; otherwise they are on the y axis.
    """

    def plot(rows: Any, values: Any, **style: Any) -> None:
        x, y = (rows, values) if upright else (values, rows)
        axes.plot(x, y, **style)

    lines = axes.vlines if upright else axes.hlines
    lines(records.index, records["low"], records["high"], zorder=1, **ONE_MORE)
    for place, seeds in records["seeds"].items():
        plot([place] * len(seeds), seeds, zorder=2, **ONE_SEED)
    for source, style in _source_styles().items():
        plot(records.index, records[source], zorder=3, **style)


def _source_styles() -> dict[str, dict[str, Any]]:
    """Return the style of the points of each source."""
    styles = {}
    for source, colour, marker, fill in LOOKS:
        face = colour if fill else "white"
        styles[source] = {"color": colour, "marker": marker, "linestyle": "", "markerfacecolor": face}
    return styles


def _legend(figure: "Figure", records: "DataFrame") -> None:
    """Put a legend of the sources, intervals and seeds below the panels."""
    handles = []
    for source, style in _source_styles().items():
        if records[source].notna().any():
            handles.append(handle(label=source, **style))
    if records["low"].notna().any():
        handles.append(handle(label="95% prediction interval", **ONE_MORE))
    if records["seeds"].map(bool).any():
        handles.append(handle(label="one seed", **ONE_SEED))
    put_legend(figure, handles, columns=3)
