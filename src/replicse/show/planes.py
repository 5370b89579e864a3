"""Figures in the plane of alignment and uniformity: paths over training, encoders by score."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from replicse.show.canvas import INK, QUIET
from replicse.show.content.records import PLANE, SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
    from pandas import DataFrame
from replicse.show.looks import ONE_SEED, TITLE, fill_one_axis, handle, method_looks, panel_grid, put_legend

PALE = "#b9c2ca"


def trajectory(records: "DataFrame") -> "Figure":
    """Draw alignment against uniformity over training, one line per method with arrows along it.

    Records, in the order of training: method, step, alignment, uniformity, source (reported or reproduced), selected
    (not blank: the checkpoint that was selected, no further step), seeds: where those are too few for an interval, the
    place of each, uniformity and alignment; shown of the last step.
    """
    looks = method_looks(records["method"].unique())
    figure, panels = _panels_by_source(records)
    paths, chosen = set(), False
    for axes, part in panels:
        for method, points in part.groupby("method", sort=False):
            selected = bool(points["selected"].iloc[-1])
            _path(
                axes, points["uniformity"].to_numpy(), points["alignment"].to_numpy(), looks[method], selected
            )
            chosen |= selected and len(points) > 1
            _seeds_in_plane(axes, points["seeds"].iloc[-1], looks[method]["color"])
            paths |= {method} if len(points) > 1 else set()
    ends = {"color": QUIET, "linestyle": "", "marker": "o"}
    lines = {method: look if method in paths else {**look, "linestyle": ""} for method, look in looks.items()}
    start = handle(label="start", markerfacecolor="white", markersize=7.5, **ends)
    handles = [
        *(handle(label=method, **look) for method, look in lines.items()),
        *([start] if paths else []),
        *([handle(label="to the selected checkpoint", color=QUIET, **CHOSEN)] if chosen else []),
        handle(label="final", markeredgecolor=INK, markersize=8.5, **ends),
        *_seeds_handle(records),
    ]
    put_legend(figure, handles, columns=4)
    return figure


def scatter(records: "DataFrame") -> "Figure":
    """Draw encoders in the plane of alignment and uniformity, coloured by score.

    Records: label, alignment, uniformity, score (None where missing), metric (of the score), source, seeds as for
    `trajectory`.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scores = records["score"]
    colours = ScalarMappable(Normalize(scores.min(), scores.max()), "cividis")
    figure, panels = _panels_by_source(records)
    for axes, part in panels:
        faces: list[Any] = [PALE if np.isnan(score) else colours.to_rgba(score) for score in part["score"]]
        look: dict[str, Any] = {"s": 46, "edgecolor": INK, "linewidth": 0.6, "zorder": 3}
        axes.scatter(part["uniformity"], part["alignment"], c=faces, **look)
        for seeds in part["seeds"]:
            _seeds_in_plane(axes, seeds, QUIET)
        axes.margins(0.16)
    if scores.notna().any():
        figure.colorbar(colours, ax=[axes for axes, _ in panels], label=records["metric"].iloc[0], aspect=30)
    if handles := _seeds_handle(records):
        figure.legend(handles=handles, loc="outside lower left")
    figure.draw_without_rendering()
    for axes, part in panels:
        _label_points(axes, part)
    return figure


# Where a label may stand beside its point, the nearest first: how far away, and which end of it is nearest.
NEAR = 9
SPOTS = [
    {"position": (x * reach, y * reach), "ha": horizontal, "va": vertical}
    for reach in (6, 12, 20, 30, 45, 60, 80, 100, 125, 150)
    for x, y, horizontal, vertical in (
        (1, 0, "left", "center"),
        (-1, 0, "right", "center"),
        (0, 1, "center", "bottom"),
        (0, -1, "center", "top"),
        (0.7, 0.7, "left", "bottom"),
        (0.7, -0.7, "left", "top"),
        (-0.7, 0.7, "right", "bottom"),
        (-0.7, -0.7, "right", "top"),
        (0.9, 0.4, "left", "center"),
        (0.9, -0.4, "left", "center"),
        (-0.9, 0.4, "right", "center"),
        (-0.9, -0.4, "right", "center"),
    )
]
CHOSEN: dict[str, Any] = {"linestyle": (0, (2, 2)), "linewidth": 1.0}


def _panels_by_source(records: "DataFrame") -> "tuple[Figure, list[tuple[Axes, DataFrame]]]":
    """Return a figure with one plane per source, on shared axes where the shapes stay readable, else two in a row."""
    parts = list(records.groupby("source", sort=False))
    shared = all(fill_one_axis([part[name].to_numpy() for _, part in parts]) for name in PLANE)
    most = 3 if shared else 2
    figure, grid, columns = panel_grid(len(parts), most, (1.4, 2.6), sharex=shared, sharey=shared)
    for place, (axes, (source, _)) in enumerate(zip(grid, parts, strict=True)):
        axes.set_xlabel("uniformity (lower is better)" + ("" if shared else "\non its own scales"))
        title = source if source in SOURCES else f"reproduced: {source[0].lower()}{source[1:]}"
        axes.set_title(textwrap.fill(title, TITLE) if len(parts) > 1 else "")
        axes.set_ylabel("" if place % columns else "alignment (lower is better)")
        axes.tick_params(labelbottom=not shared or place + columns >= len(parts))
        if not shared:
            axes.locator_params(axis="x", nbins=4)  # numbers of a narrow span have many digits
    return figure, [(axes, part) for axes, (_, part) in zip(grid, parts, strict=True)]


def _path(axes: "Axes", x: np.ndarray, y: np.ndarray, look: Mapping[str, Any], selected: bool) -> None:
    """Draw one method's way through the plane: start hollow, final point large, arrows on the way.

    The way to a `selected` checkpoint, which may lie before the last step, is dashed and has no arrow.
    """
    steps = len(x) - (selected and len(x) > 1)
    axes.plot(x[:steps], y[:steps], markersize=3, alpha=0.85, **look)
    axes.plot(x[steps - 1 :], y[steps - 1 :], color=look["color"], alpha=0.85, **CHOSEN)
    ends = {**look, "linestyle": "", "zorder": 4}
    axes.plot(x[:1], y[:1], markersize=7.5, markerfacecolor="white", markeredgewidth=1.3, **ends)
    axes.plot(x[-1:], y[-1:], markersize=8.5, markeredgecolor=INK, markeredgewidth=0.9, **ends)
    arrow = {"arrowstyle": "-|>", "color": look["color"], "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    for first in _arrow_places(x[:steps], y[:steps]):
        start, end = (np.array([x[place], y[place]]) for place in (first, first + 1))
        middle = (start + 2 * end) / 3
        axes.annotate("", xy=middle, xytext=tuple(start), arrowprops={**arrow, "mutation_scale": 11})


def _arrow_places(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Return the segments that hold a quarter, a half and three quarters of the way."""
    covered = np.cumsum(np.hypot(np.diff(x), np.diff(y)))
    if not covered.size or covered[-1] == 0:
        return []
    return np.unique(np.searchsorted(covered, covered[-1] * np.array([0.25, 0.5, 0.75]))).tolist()


def _seeds_in_plane(axes: "Axes", seeds: Iterable[tuple[float, float]], colour: str) -> None:
    """Draw each seed of a point, by its uniformity and alignment."""
    for x, y in seeds:
        axes.plot([x], [y], zorder=2, **{**ONE_SEED, "color": colour})


def _seeds_handle(records: "DataFrame") -> list[Any]:
    return (
        [handle(label="one seed", **{**ONE_SEED, "color": QUIET})] if records["seeds"].map(bool).any() else []
    )


def _label_points(axes: "Axes", records: "DataFrame") -> None:
    """Name every point where its label hits no other label or point and stays inside the axes.

    A line leads to a label that is apart from its point.
    """
    from matplotlib.transforms import Bbox

    points = records[["uniformity", "alignment"]].to_numpy()
    radius = 4 * axes.figure.dpi / 72
    seeds = [place for each in records["seeds"] for place in each]
    drawn = axes.transData.transform([*points, *np.array(seeds, dtype=float)])
    taken = [Bbox([place - radius, place + radius]) for place in drawn]
    for point, name, score in zip(points, records["label"], records["score"], strict=True):
        text = name if np.isnan(score) else f"{name} ({score:.1f})"
        label = axes.annotate(text, point, (0, 0), textcoords="offset points", fontsize=7.5, color=INK)
        label.set_in_layout(False)
        spot: dict[str, Any] = min(SPOTS, key=partial(_crowding, label, axes.bbox, taken))
        label.set(**spot)
        taken.append(label.get_window_extent())
        if np.hypot(*spot["position"]) > NEAR:
            start = axes.transData.transform(point)
            end = start + np.array(spot["position"]) * axes.figure.dpi / 72
            ends = axes.transData.inverted().transform([start, end])
            axes.plot(*ends.T, color=QUIET, linewidth=0.5, zorder=1, scalex=False, scaley=False)


def _crowding(label: "Text", within: "Bbox", taken: "Sequence[Bbox]", spot: Mapping[str, Any]) -> float:
    """Return how much of a label lies over what is taken, or outside of its axes, in one spot."""
    label.set(**spot)
    box = label.get_window_extent()
    outside = box.width * box.height - _overlap(box, within)
    return outside + sum(_overlap(box, other) for other in taken)


def _overlap(first: Any, second: Any) -> float:
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(0.0, width) * max(0.0, height)
