"""Figures of printed and reproduced numbers next to each other, and of numbers as shades."""

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

# Characters of all names of ticks below an axis.
TICKS = 44


def profile(records: "DataFrame") -> "Figure":
    """Draw one column over an ordered row axis: the reported line and the reproduced one with its interval.

    Records, in the order of the rows: row, reported, reproduced, low, high (None where missing), metric, and seeds:
    those that are too few for an interval. Rows whose names are numbers (`0.1`, `p = 0.1`) are
    joined by lines; others (`Fixed 0.1`) are alone. Where records have a group, each has a panel, on one scale where
    its shape stays readable.
    """
    parts = _panels(records)
    shared = fill_one_axis([part[list(SOURCES)].to_numpy() for _, part in parts])
    figure, grid, _ = panel_grid(len(parts), 1, (0.4, 1.7), sharey=shared)
    for axes, (group, part) in zip(grid, parts, strict=True):
        joined = part["row"].str.fullmatch(r"(\S+ ?= ?)?[-+−]?\d*\.?\d+(e-?\d+)?%?")
        for source, colour, _, fill in LOOKS:
            style: dict[str, Any] = {"color": colour, "linestyle": "-" if fill else (0, (4, 2)), "zorder": 2}
            axes.plot(part.index, part[source].where(joined), **style)
        _beside(axes, part, upright=True)
        # What all rows set, as in `λ = 0.1`, is said once below the axis, where many such labels would overlap.
        set_by_all = re.match(r"\S+ ?= ?", part["row"].iloc[0])
        name = set_by_all[0] if set_by_all and part["row"].str.startswith(set_by_all[0]).all() else ""
        wrap = textwrap.TextWrapper(TICKS // len(part), break_long_words=False).fill
        axes.set_xticks(part.index, part["row"].str.removeprefix(name).map(wrap))
        axes.set_xlabel(name.rstrip(" ="))
        axes.set_title(group)
        scale = "" if shared else "\non its own scale"
        axes.set(ylabel=records["metric"].iloc[0] + scale)
        axes.margins(x=0.06)
    _legend(figure, records)
    return figure


def bars(records: "DataFrame") -> "Figure":
    """Draw a column row by row: the reported point, ours and its interval. Records as for `profile`."""
    parts = _panels(records)
    rows = list(max((part for _, part in parts), key=len)["row"])
    names, height = row_names(rows)
    figure, grid, _ = panel_grid(len(parts), 1, (0.3, 0.4 + height * len(rows)))
    for axes, (_, part) in zip(grid, parts, strict=True):
        # A panel that lacks a row leaves its place empty.
        whole = len(part) == len(rows)
        part = part.set_axis(range(len(rows)) if whole else list(map(rows.index, part["row"])))
        axes.hlines(part.index, part["reported"], part["reproduced"], color=QUIET, linewidth=0.8, zorder=1)
        _beside(axes, part, upright=False)
        axes.set_yticks(range(len(rows)), names)
        axes.set(xlabel=part["metric"].iloc[0], ylim=(len(rows) - 0.4, -0.6))
    _legend(figure, records)
    return figure


def heat(records: "DataFrame") -> "Figure":
    """Draw a number for each row and column as a shade. Records: row, column, value, metric; first row lowest."""
    rows, columns = (list(dict.fromkeys(records[side])) for side in ("row", "column"))
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


# Source, colour, marker, filled: reported is hollow and dashed wherever it stands beside ours.
LOOKS = (("reported", QUIET, "s", False), ("reproduced", COLOURS[0], "o", True))
ONE_MORE: dict[str, Any] = {"color": COLOURS[0], "linewidth": 4, "alpha": 0.25}


def _panels(records: "DataFrame") -> "list[tuple[str, DataFrame]]":
    """Return the records of each group, or all of them where they have none."""
    return list(records.groupby("group", sort=False)) if "group" in records else [("", records)]


def _beside(axes: "Axes", records: "DataFrame", upright: bool) -> None:
    """Draw reported and reproduced points with the 95% prediction interval or the seeds."""
    lines = axes.vlines if upright else axes.hlines
    lines(records.index, records["low"], records["high"], zorder=1, **ONE_MORE)
    for place, seeds in records["seeds"].items():
        places = [place] * len(seeds)
        axes.plot(*((places, seeds) if upright else (seeds, places)), zorder=2, **ONE_SEED)
    for source, style in _source_styles().items():
        x, y = (records.index, records[source]) if upright else (records[source], records.index)
        axes.plot(x, y, zorder=3, **style)


def _source_styles() -> dict[str, dict[str, Any]]:
    return {
        source: {
            "color": colour,
            "marker": marker,
            "linestyle": "",
            "markerfacecolor": colour if fill else "white",
        }
        for source, colour, marker, fill in LOOKS
    }


def _legend(figure: "Figure", records: "DataFrame") -> None:
    """Put what any panel shows of reported, reproduced, intervals and seeds into one legend."""
    shown = {name: records[name].notna().any() for name in (*SOURCES, "low")}
    handles = [handle(label=source, **style) for source, style in _source_styles().items() if shown[source]]
    handles += [handle(label="95% prediction interval", **ONE_MORE)] if shown["low"] else []
    handles += [handle(label="one seed", **ONE_SEED)] if records["seeds"].map(bool).any() else []
    put_legend(figure, handles, columns=3)
