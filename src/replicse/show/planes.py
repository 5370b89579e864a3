"""Figures of alignment and uniformity: training paths and encoders."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from replicse.show.canvas import INK, QUIET
from replicse.show.content.records import PLANE, SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
from replicse.show.looks import ONE_SEED, fill_one_axis, handle, method_looks, panel_grid, put_legend

Path = tuple[np.ndarray, int]  # coordinates of checkpoints, and the number of training steps
PALE = "#b9c2ca"
SMALL = 6.5
MOST_NAMES, MOST_LABELS, NARROW_TITLE = 3, 6, 20
TICKS = 5  # maximum number of intervals between ticks of an axis
LABELS = "uniformity, own scales\n(lower is better)", "uniformity (lower is better)"
THIN: dict[str, Any] = {"linestyle": "-", "linewidth": 0.4, "alpha": 0.6, "zorder": 1.5}
CHOSEN: dict[str, Any] = {"linestyle": (0, (1, 1.5)), "linewidth": 0.8, "marker": ""}


def trajectory(records: "DataFrame") -> "Figure":
    """Draw alignment and uniformity during training, a line per method.

    Arrows show the direction of training. If there are several panels and more than MOST_NAMES methods, the legend
    contains the names of the methods; otherwise each line has a label.

    Args:
        records: A row for each checkpoint, in the order of training, with the columns method, step, alignment,
            uniformity, source (reported or reproduced), selected (not empty for the selected checkpoint, which is not
            a further step) and seed (empty for the mean over seeds).

    Returns:
        A figure with a panel for each source.
    """
    looks = method_looks(records["method"].unique())
    figure, panels = _panels_by_source(records, beside=True)
    means: dict[Axes, dict[str, Path]] = {}
    seeds: dict[Axes, list[np.ndarray]] = {}
    paths: list[Path] = []
    for axes, part in panels:
        means[axes], seeds[axes] = {}, []
        for (method, seed), points in part.groupby(["method", "seed"], sort=False):
            path = points[["uniformity", "alignment"]].to_numpy()
            steps = len(path) - bool(points["selected"].iloc[-1] and len(path) > 1)
            if seed:
                _seed_path(axes, path, looks[method])
                seeds[axes].append(path)
            else:
                _path(axes, path, looks[method], steps)
                means[axes][method] = path, steps
                paths.append((path, steps))
    keyed: Mapping[str, Any] = {}
    if len(panels) > 1 and len(looks) > MOST_NAMES:
        keyed = looks
    _put_key(figure, records, paths, keyed)
    figure.draw_without_rendering()
    for axes, own in means.items():
        labels = []
        for method, (path, steps) in own.items():
            colour = looks[method]["color"]
            _arrows(axes, _along(axes, path[:steps]), colour)
            if method not in keyed:
                way = _along(axes, path)
                labels.append((method, colour, way[_shares(way, np.linspace(1, 0.1, 10))], way))
        others = [np.empty((0, 2))]
        for path in seeds[axes]:
            others.append(_along(axes, path))
        _put_labels(axes, labels, np.concatenate(others))
    return figure


def scatter(records: "DataFrame") -> "Figure":
    """Draw encoders by alignment and uniformity, coloured by score.

    The label of a point is the name and score of the encoder. If there are more than MOST_LABELS encoders, it is a
    number that the legend explains.

    Args:
        records: A row for each encoder and source with the columns label, alignment, uniformity, score (None if
            missing), metric (of the score), source, and seeds: a tuple of (uniformity, alignment) for each seed, or an
            empty tuple if there are enough seeds for an interval.

    Returns:
        A figure with a panel for each source.
    """
    from matplotlib import colormaps

    scores = records["score"]
    shades = colormaps["cividis"].with_extremes(bad=PALE)
    look: dict[str, Any] = {"s": 22, "edgecolor": INK, "linewidth": 0.6, "zorder": 3, "plotnonfinite": True}
    look |= {"cmap": shades, "vmin": scores.min(), "vmax": scores.max()}
    figure, panels = _panels_by_source(records, beside=False)
    for axes, part in panels:
        points = axes.scatter(part["uniformity"], part["alignment"], c=part["score"], **look)
        for seeds in part["seeds"]:
            for x, y in seeds:
                axes.plot([x], [y], zorder=2, **ONE_PLACE)
    if scores.notna().any():
        bar: dict[str, Any] = {"location": "bottom", "aspect": 40, "pad": 0.02}
        figure.colorbar(points, ax=[axes for axes, _ in panels], label=records["metric"].iloc[0], **bar)
    encoders = scores.groupby(records["label"], sort=False).agg(_in_brackets)
    numbers = {name: str(number) for number, name in enumerate(encoders.index, start=1)}
    many = len(encoders) > MOST_LABELS
    handles = []
    if many:
        for name, score in encoders.items():
            handles.append(handle(label=f"{numbers[name]} {name}{score}", linestyle=""))
    if records["seeds"].map(bool).any():
        handles.append(handle(label="one seed", **ONE_PLACE))
    if handles:
        put_legend(figure, handles, columns=2)
    figure.draw_without_rendering()
    for axes, part in panels:
        dots = axes.transData.transform(part[["uniformity", "alignment"]].to_numpy())[:, None]
        seeds = np.array(list(chain.from_iterable(part["seeds"])), dtype=float).reshape(-1, 2)
        names = part["label"].map(numbers) if many else part["label"] + part["score"].map(_in_brackets)
        labels = [(name, INK, dot, dot) for name, dot in zip(names, dots, strict=True)]
        _put_labels(axes, labels, axes.transData.transform(seeds))
    return figure


def _in_brackets(scores: Any) -> str:
    """Format scores in brackets; return "" if all are missing."""
    known = ", ".join(f"{score:.1f}" for score in np.ravel(scores) if not np.isnan(score))
    return known and f" ({known})"


ONE_PLACE: dict[str, Any] = {**ONE_SEED, "color": QUIET, "markersize": 2.5, "markeredgewidth": 0.6}
# A line connects a label and a point that are farther apart, in points.
NEAR = 9
SIDES = {"left": 0, "bottom": 0, "center": 0.5, "right": 1, "top": 1}
# Positions of a label around a point, nearest first: the offset, and the corner of the label next to the point.
SPOTS = [
    {
        "position": (reach * np.cos(angle), reach * np.sin(angle)),
        "ha": ("right", "center", "left")[1 + round(np.cos(angle))],
        "va": ("top", "center", "bottom")[1 + round(np.sin(angle))],
    }
    for reach in (5, 8, 12, 20, 30, 45, 60, 80)
    for angle in np.radians(range(0, 360, 45))
]


def _panels_by_source(records: "DataFrame", beside: bool) -> "tuple[Figure, list[tuple[Axes, DataFrame]]]":
    """Create a figure with a panel for each source.

    Panels share their axes if all of them stay readable.

    Args:
        records: Records with the columns source, alignment and uniformity.
        beside: Whether two panels are next to each other; otherwise each panel has the width of the figure.

    Returns:
        The figure and a list of (axes, records of the source).
    """
    parts = list(records.groupby("source", sort=False))
    narrow = beside and len(parts) > 1
    shared = True
    for name in PLANE:
        shared = shared and fill_one_axis([part[name].to_numpy() for _, part in parts])
    heights, ticks = (0.7, 2.0), TICKS
    if narrow:
        heights, ticks = (1.0, 1.8), 2 + 2 * shared
    figure, grid, columns = panel_grid(len(parts), 1 + narrow, heights, sharex=shared, sharey=shared)
    for place, (axes, (source, _)) in enumerate(zip(grid, parts, strict=True)):
        leftmost, lowest = not place % columns, place + columns >= len(parts)
        title = source
        if source not in SOURCES:
            title = f"reproduced: {source[0].lower()}{source[1:]}"
        if len(parts) > 1:
            axes.set_title(textwrap.fill(title, NARROW_TITLE))
        axes.set(xlabel=LABELS[shared] * lowest, ylabel="alignment (lower is better)" * leftmost)
        axes.margins(0.12, 0.09)
        axes.tick_params(labelbottom=lowest or not shared, labelleft=leftmost or not shared)
        axes.locator_params(axis="x", nbins=ticks)
        axes.locator_params(axis="y", nbins=TICKS)
    return figure, [(axes, part) for axes, (_, part) in zip(grid, parts, strict=True)]


def _path(axes: "Axes", path: np.ndarray, look: Mapping[str, Any], steps: int) -> None:
    """Draw a method's path; the first point is hollow, the last large.

    The line from the last of `steps` to the selected checkpoint is dotted.
    """
    axes.plot(*path[:steps].T, **{**look, "markersize": 2.2, "linewidth": 1.0, "zorder": 3})
    axes.plot(*path[steps - 1 :].T, **{**look, **CHOSEN})
    ends = {**look, "linestyle": "", "zorder": 4}
    axes.plot(*path[:1].T, **{**ends, "markersize": 5, "markerfacecolor": "white", "markeredgewidth": 0.9})
    axes.plot(*path[-1:].T, **{**ends, "markersize": 5.5, "markeredgecolor": INK, "markeredgewidth": 0.6})


def _seed_path(axes: "Axes", path: np.ndarray, look: Mapping[str, Any]) -> None:
    """Draw the path of a seed as a thin line and the last checkpoint."""
    axes.plot(*path.T, **{**look, **THIN, "marker": ""})
    axes.plot(*path[-1:].T, **{**look, **THIN, "markersize": 2.5, "markerfacecolor": "none"})


def _put_key(figure: "Figure", records: "DataFrame", paths: Sequence[Path], keyed: Mapping[str, Any]) -> None:
    """Put a legend of marks and of the methods in `keyed` below the axes."""
    ends: dict[str, Any] = {"color": QUIET, "linestyle": "", "marker": "o"}
    first = handle(label="first checkpoint", markerfacecolor="white", markersize=5, **ends)
    chosen = handle(label="to the selected checkpoint", color=QUIET, **CHOSEN)
    handles = []
    for method, look in keyed.items():
        handles.append(handle(label=method, **look))
    if any(len(path) > 1 for path, _ in paths):
        handles.append(first)
    handles.append(handle(label="selected checkpoint", markeredgecolor=INK, markersize=5.5, **ends))
    if any(steps < len(path) for path, steps in paths):
        handles.append(chosen)
    if records["seed"].any():
        handles.append(handle(label="one seed", color=QUIET, **THIN))
    put_legend(figure, handles, columns=4)


def _along(axes: "Axes", path: np.ndarray) -> np.ndarray:
    """Interpolate a path: points in pixels, about three pixels apart."""
    corners = axes.transData.transform(path)
    covered = np.cumsum([0, *np.hypot(*np.diff(corners, axis=0).T)])
    wanted = np.linspace(0, covered[-1], 1 + int(covered[-1] // 3))
    return np.column_stack([np.interp(wanted, covered, column) for column in corners.T])


def _shares(way: np.ndarray, shares: Iterable[float]) -> list[int]:
    """Return the indices of the points at fractions of a path's length."""
    return [round(share * (len(way) - 1)) for share in shares]


def _arrows(axes: "Axes", way: np.ndarray, colour: str) -> None:
    """Draw arrowheads along a path, in its direction."""
    shape: dict[str, Any] = {"arrowstyle": "-|>", "color": colour, "lw": 0, "mutation_scale": 10}
    for place in filter(None, _shares(way, (0.35, 0.7))):
        start, end = axes.transData.inverted().transform(way[[place - 1, place]])
        axes.annotate("", xy=end, xytext=start, arrowprops={**shape, "shrinkA": 0, "shrinkB": 0})


def _put_labels(
    axes: "Axes", labels: Sequence[tuple[str, str, np.ndarray, np.ndarray]], others: np.ndarray
) -> None:
    """Put each label next to a point so that it hides as little as possible.

    If the label is not near the point, a line connects them.

    Args:
        axes: The panel.
        labels: Tuples of text, colour (a darker shade is used), possible points, and all points of the curve that other
            labels should not hide. Points are in pixels, with shape (n, 2).
        others: Further points that labels should not hide.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patheffects import withStroke

    pixel, to_data = axes.figure.dpi / 72, axes.transData.inverted()
    taken = [_boxes(others, pixel)]
    for text, colour, places, own in labels:
        drawn = []
        for *_, each in labels:
            distance = 1.5 if each is own else 5
            drawn.append(_boxes(each, distance * pixel))
        first, dark = tuple(to_data.transform(places[0])), tuple(0.6 * np.array(to_rgb(colour)))
        label = axes.annotate(text, first, (0, 0), textcoords="offset points", fontsize=SMALL, color=dark)
        label.set(in_layout=False, path_effects=[withStroke(linewidth=1.5, foreground="white")], zorder=5)
        # Measure the label once, because it takes a millisecond and the size is the same at every position.
        size = np.array(label.get_window_extent().size)
        spots = []
        for place in places:
            for spot in SPOTS:
                spots.append((place, spot, _box(place, spot, size, pixel)))
        hidden, within = np.concatenate([*taken, *drawn]), np.array(axes.bbox.extents)
        place, spot, box = min(spots, key=lambda each: _crowding(each[2], within, hidden, each[1]))
        label.xy = tuple(to_data.transform(place))
        label.set(**spot)
        taken.append(box[None])
        if np.hypot(*spot["position"]) > NEAR:
            end = axes.transData.transform(label.xy) + np.array(spot["position"]) * pixel
            line: dict[str, Any] = {"linewidth": 0.5, "zorder": 2, "scalex": False, "scaley": False}
            axes.plot(*np.array([label.xy, to_data.transform(end)]).T, color=dark, **line)


def _boxes(points: np.ndarray, reach: float) -> np.ndarray:
    """Return boxes around points: left, bottom, right, top in each row."""
    return np.hstack([points - reach, points + reach])


def _box(place: np.ndarray, spot: Mapping[str, Any], size: np.ndarray, pixel: float) -> np.ndarray:
    """Return the box of a label at a position next to a point, in pixels."""
    corner = place + np.array(spot["position"]) * pixel - size * [SIDES[spot["ha"]], SIDES[spot["va"]]]
    return np.concatenate([corner, corner + size])


def _crowding(box: np.ndarray, within: np.ndarray, taken: np.ndarray, spot: Mapping[str, Any]) -> float:
    """Return the cost of a label's position.

    The cost adds up the hidden area, the area outside the axes, and the distance from the point.
    """
    outside = np.prod(box[2:] - box[:2]) - _overlaps(box, within[None])
    return outside * 3 + _overlaps(box, taken) + np.hypot(*spot["position"])


def _overlaps(box: np.ndarray, others: np.ndarray) -> float:
    """Return the total area that a box shares with other boxes."""
    shared = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    return float(np.sum(np.prod(np.clip(shared, 0, None), axis=1)))
