"""Figures from tidy data, each as SVG, PNG and PDF with reproducible bytes, and its data next to it as CSV."""

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replicse.checked import read_yaml
from replicse.errors import BadInput, nearest
from replicse.files import atomic_write, write_rows
from replicse.show.canvas import INK, QUIET, canvas
from replicse.show.content.records import PLANE, SOURCES
from replicse.show.strip_plots import effect_plot, strip_plot
from replicse.workspace import packaged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
    from pandas import DataFrame

Records = Sequence[Mapping[str, Any]]
# Okabe and Ito's palette, told apart by colour-blind readers; every line differs in its marker too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
FILLS = ("full", "left", "bottom", "right")
PALE = "#b9c2ca"
LABEL, TITLE = 34, 26
SPAN_BINS = 50
# Panels share an axis where each of them fills at least this part of it.
LEAST_SHARE = 0.2
STYLE = Path(__file__).with_name("formats") / "templates" / "figures.mplstyle"
METADATA = {
    "svg": {"Date": None, "Creator": "replicse"},
    "png": {"Software": None},
    "pdf": {"Creator": "replicse", "Producer": None, "CreationDate": None},
}


def draw(kind: str, records: Records, stem: Path, title: str = "") -> list[Path]:
    """Draw tidy records and return the files written: `stem` with .svg, .png, .pdf and .csv.

    The columns of each kind are described in its function. The title is the only one of the figure and names its
    scale, such as `micro: not comparable`. Raises BadInput for an unknown kind or no records.
    """
    if kind not in DRAWERS:
        raise BadInput(f'figure "{kind}" is unknown{nearest(kind, DRAWERS)}')
    if not records:
        raise BadInput(f"{stem}: nothing to draw; no cell of the figure has a number")
    import matplotlib

    with matplotlib.rc_context(fname=STYLE):
        figure = DRAWERS[kind](frame(records))
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, fontweight="bold", color=INK)
        return _save(figure, records, stem)


def frame(records: Records) -> "DataFrame":
    """Return records as a table whose numbers are floats, NaN where one is missing."""
    from pandas import DataFrame

    table = DataFrame(records)
    numbers = [
        name for name, column in table.items() if not column.map(lambda entry: isinstance(entry, str)).any()
    ]
    return table.astype(dict.fromkeys(numbers, float))


def trajectory(records: "DataFrame") -> "Figure":
    """Draw alignment against uniformity over training, one line per method with arrows along it.

    Records, in the order of training: method, step, alignment, uniformity, source (reported or reproduced), selected
    (not blank: the checkpoint that was selected, no further step), seeds: where those are too few for an interval, the
    place of each as `uniformity,alignment`; shown of the last step.
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
    start = _handle(label="start", markerfacecolor="white", markersize=7.5, **ends)
    handles = [
        *(_handle(label=method, **look) for method, look in lines.items()),
        *([start] if paths else []),
        *([_handle(label="to the selected checkpoint", color=QUIET, **CHOSEN)] if chosen else []),
        _handle(label="final", markeredgecolor=INK, markersize=8.5, **ends),
        *_seeds_handle(records),
    ]
    _put_legend(figure, handles, columns=4)
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


def spectrum(records: "DataFrame") -> "Figure":
    """Draw singular values, the largest scaled to 1, one line per encoder. Records: encoder, index, value."""
    figure = canvas(3.6)
    axes = figure.subplots()
    looks = method_looks(records["encoder"].unique())
    for place, (encoder, points) in enumerate(records.groupby("encoder", sort=False)):
        marks = (0.03 * place, 0.2)
        axes.plot(points["index"], points["value"], label=encoder, markevery=marks, **looks[encoder])
    axes.set(xlabel="index of the singular value", ylabel="singular value / largest", ylim=(0, None))
    axes.legend()
    return figure


def density(records: "DataFrame", own_scales: bool = False) -> "Figure":
    """Draw the density of cosine similarity by rating group, one panel of ridges per encoder.

    Records: encoder, group (from the lowest rating to the highest), cosine, density. With `own_scales` each panel
    spans the cosines of its own encoder and says so, as in a figure whose encoders have little in common.
    """
    groups = records["group"].unique()
    # Only the cosines that occur are shown: no pair of most encoders is anywhere near -1.
    lowest = records["cosine"][records["density"] > 0].min()
    shown = records[~(records["cosine"] < lowest)]
    encoders = list(shown.groupby("encoder", sort=False))
    looks = method_looks(encoder for encoder, _ in encoders)
    figure, grid, columns = _grid(len(encoders), 3, (0.5, 2.2), sharex=not own_scales, sharey=True)
    for place, (axes, (encoder, part)) in enumerate(zip(grid, encoders, strict=True)):
        if own_scales:
            part = _own_span(part)
            axes.set_xlabel("own scale")
        _ridges(axes, part, groups, looks[encoder]["color"])
        axes.set_title(textwrap.fill(encoder, TITLE))
        axes.tick_params(labelbottom=own_scales or place + columns >= len(encoders))
    figure.supxlabel("cosine similarity", fontsize=8.5, color=INK)
    figure.supylabel("rating", fontsize=8.5, color=INK)
    return figure


def profile(records: "DataFrame") -> "Figure":
    """Draw one column over an ordered row axis: the reported line and the reproduced one with its interval.

    Records, in the order of the rows: row, reported, reproduced, low, high (None where missing), metric, and seeds:
    those that are too few for an interval, a space between them. Rows whose names are numbers (`0.1`, `p = 0.1`) are
    joined by lines; others (`Fixed 0.1`) are alone. Where records have a group, each has a panel, on one scale where
    its shape stays readable.
    """
    parts = _panels(records)
    shared = _fill_one_axis([part[list(SOURCES)].to_numpy() for _, part in parts])
    figure, grid, columns = _grid(len(parts), 2, (0.5, 2.8), sharey=shared)
    for place, (axes, (group, part)) in enumerate(zip(grid, parts, strict=True)):
        joined = part["row"].str.fullmatch(r"(\S+ ?= ?)?[-+−]?\d*\.?\d+(e-?\d+)?%?")
        for source, colour, _, fill in LOOKS:
            style: dict[str, Any] = {"color": colour, "linestyle": "-" if fill else (0, (4, 2)), "zorder": 2}
            axes.plot(part.index, part[source].where(joined), **style)
        _beside(axes, part, upright=True)
        # What all rows set, as in `λ = 0.1`, is said once below the axis, where many such labels would overlap.
        set_by_all = re.match(r"\S+ ?= ?", part["row"].iloc[0])
        name = set_by_all[0] if set_by_all and part["row"].str.startswith(set_by_all[0]).all() else ""
        axes.set_xticks(part.index, part["row"].str.removeprefix(name))
        axes.set_xlabel(name.rstrip(" ="))
        axes.set_title(group)
        scale = "" if shared else " on its own scale"
        axes.set(ylabel="" if place % columns and shared else records["metric"].iloc[0] + scale)
        axes.margins(x=0.06)
    _legend(figure, records)
    return figure


def bars(records: "DataFrame") -> "Figure":
    """Draw a column row by row: the reported point, ours and its interval. Records as for `profile`."""
    parts = _panels(records)
    rows = list(max((part for _, part in parts), key=len)["row"])
    labels = {row: textwrap.fill(row, LABEL) for row in rows}
    tallest = max(label.count("\n") + 1 for label in labels.values())
    figure = canvas(1.1 + len(rows) * (0.14 + 0.14 * tallest))
    for axes, (_, part) in zip(
        figure.subplots(1, len(parts), sharey=True, squeeze=False)[0], parts, strict=True
    ):
        # A panel that lacks a row leaves its place empty.
        whole = len(part) == len(rows)
        part = part.set_axis(range(len(rows)) if whole else list(map(rows.index, part["row"])))
        axes.hlines(part.index, part["reported"], part["reproduced"], color=QUIET, linewidth=0.8, zorder=1)
        _beside(axes, part, upright=False)
        axes.set_yticks(range(len(rows)), [labels[row] for row in rows])
        name = textwrap.fill(part["metric"].iloc[0], 2 * LABEL // len(parts))
        axes.set(xlabel=name, ylim=(len(rows) - 0.4, -0.6))
    _legend(figure, records)
    return figure


def heat(records: "DataFrame") -> "Figure":
    """Draw a number for each row and column as a shade. Records: row, column, value, metric; first row lowest."""
    rows, columns = (list(dict.fromkeys(records[side])) for side in ("row", "column"))
    grid = records.pivot_table(index="row", columns="column", values="value").loc[rows, columns].to_numpy()
    figure = canvas(3.6)
    axes = figure.subplots()
    shades = axes.imshow(grid, origin="lower", cmap="cividis", vmin=0, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        ink = "white" if value < np.nanmax(grid) / 2 else INK
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set(xlabel="predicted")
    figure.colorbar(shades, ax=axes, label=records["metric"].iloc[0])
    return figure


DRAWERS: dict[str, Callable[["DataFrame"], "Figure"]] = {
    "trajectory": trajectory,
    "scatter": scatter,
    "spectrum": spectrum,
    "density": density,
    "density-own-scales": partial(density, own_scales=True),
    "profile": profile,
    "bars": bars,
    "heat": heat,
    "strip": strip_plot,
    "effects": effect_plot,
}
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
# Source, colour, marker, filled: reported is hollow and dashed wherever it stands beside ours.
LOOKS = (("reported", QUIET, "s", False), ("reproduced", COLOURS[0], "o", True))
CHOSEN: dict[str, Any] = {"linestyle": (0, (2, 2)), "linewidth": 1.0}
ONE_MORE: dict[str, Any] = {"color": COLOURS[0], "linewidth": 5, "alpha": 0.25}
ONE_SEED: dict[str, Any] = {
    "color": COLOURS[0],
    "marker": "o",
    "markersize": 4,
    "markerfacecolor": "none",
    "linestyle": "",
}


def _panels(records: "DataFrame") -> "list[tuple[str, DataFrame]]":
    """Return the records of each group, or all of them where they have none."""
    return list(records.groupby("group", sort=False)) if "group" in records else [("", records)]


def _panels_by_source(records: "DataFrame") -> "tuple[Figure, list[tuple[Axes, DataFrame]]]":
    """Return a figure with one plane per source, on shared axes where the shapes stay readable, else two in a row."""
    parts = list(records.groupby("source", sort=False))
    shared = all(_fill_one_axis([part[name].to_numpy() for _, part in parts]) for name in PLANE)
    most = 3 if shared else 2
    figure, grid, columns = _grid(len(parts), most, (1.4, 2.6), sharex=shared, sharey=shared)
    for place, (axes, (source, _)) in enumerate(zip(grid, parts, strict=True)):
        axes.set_xlabel("uniformity (lower is better)" + ("" if shared else "\non its own scales"))
        title = source if source in SOURCES else f"reproduced: {source[0].lower()}{source[1:]}"
        axes.set_title(textwrap.fill(title, TITLE) if len(parts) > 1 else "")
        axes.set_ylabel("" if place % columns else "alignment (lower is better)")
        axes.tick_params(labelbottom=not shared or place + columns >= len(parts))
        if not shared:
            axes.locator_params(axis="x", nbins=4)  # numbers of a narrow span have many digits
    return figure, [(axes, part) for axes, (_, part) in zip(grid, parts, strict=True)]


def _grid(
    count: int, most: int, height: tuple[float, float], **shared: Any
) -> "tuple[Figure, list[Axes], int]":
    """Return a figure of some panels, at most so many in a row, and its columns; `height` is fixed and of a row."""
    columns = min(most, count)
    rows = -(-count // columns)
    figure = canvas(height[0] + height[1] * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False, **shared).flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels[:count], columns


def _fill_one_axis(parts: Sequence[np.ndarray]) -> bool:
    """Return whether the values of every panel fill enough of one axis for all; a single value always does."""
    spans = [np.nanmax(part) - np.nanmin(part) for part in parts]
    whole = max(map(np.nanmax, parts)) - min(map(np.nanmin, parts))
    return all(span >= LEAST_SHARE * whole or not span for span in spans)


def method_looks(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the style of each label: that of its method; of several of one method the dashes and the filling differ.

    A label of no known method takes a look that none of these has.
    """
    methods = _methods()
    others, seen, looks = count(len(methods)), Counter[int](), {}
    for label in labels:
        places = (place for place, method in enumerate(methods) if re.search(method, label, re.IGNORECASE))
        place = next(places, None)
        place = next(others) if place is None else place
        looks[label] = _line_style(place, seen[place])
        seen[place] += 1
    return looks


@cache
def _methods() -> Sequence[str]:
    """Return what labels say of their method: the place of a method is its look in every figure."""
    return tuple(read_yaml(packaged("workflow", "figures.yaml"))["methods"])


def _line_style(place: int, again: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        # A colour that comes round again comes with another marker, so that single points differ too.
        "marker": MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        "linestyle": DASHES[(place // len(COLOURS) + again) % len(DASHES)],
        "fillstyle": FILLS[again % len(FILLS)],
    }


def _handle(**style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


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


def _beside(axes: "Axes", records: "DataFrame", upright: bool) -> None:
    """Draw reported and reproduced points with the interval of one more run or the seeds."""
    lines = axes.vlines if upright else axes.hlines
    lines(records.index, records["low"], records["high"], zorder=1, **ONE_MORE)
    for place, seeds in records["seeds"].items():
        values = [float(text) for text in seeds.split()]
        places = [place] * len(values)
        axes.plot(*((places, values) if upright else (values, places)), zorder=2, **ONE_SEED)
    for source, style in _source_styles().items():
        x, y = (records.index, records[source]) if upright else (records[source], records.index)
        axes.plot(x, y, markersize=6, zorder=3, **style)


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
    handles = [_handle(label=source, **style) for source, style in _source_styles().items() if shown[source]]
    handles += [_handle(label="one more run (95%)", **ONE_MORE)] if shown["low"] else []
    handles += [_handle(label="one seed", **ONE_SEED)] if records["seeds"].any() else []
    _put_legend(figure, handles, columns=3)


def _put_legend(figure: "Figure", handles: list[Any], columns: int) -> None:
    """Put a legend below the axes, in at most so many columns and in as many as the figure is wide enough for."""
    for most in range(columns, 0, -1):
        legend = figure.legend(handles=handles, loc="outside lower left", ncols=most)
        if most == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _seeds_in_plane(axes: "Axes", seeds: str, colour: str) -> None:
    """Draw each seed of a point, `uniformity,alignment` with a space between them."""
    for pair in seeds.split():
        axes.plot(*([float(number)] for number in pair.split(",")), zorder=2, **{**ONE_SEED, "color": colour})


def _seeds_handle(records: "DataFrame") -> list[Any]:
    return [_handle(label="one seed", **{**ONE_SEED, "color": QUIET})] if records["seeds"].any() else []


def _own_span(records: "DataFrame") -> "DataFrame":
    """Return one encoder's densities from its lowest cosine to its highest, fine bins averaged to at most SPAN_BINS."""
    seen = records["cosine"][records["density"] > 0]
    part = records[records["cosine"].between(seen.min(), seen.max())]
    bins = part["cosine"].rank(method="dense").sub(1)
    joined = bins // max(1, -(-(bins.max() + 1) // SPAN_BINS))
    return part.groupby(["group", joined.rename("bin")], sort=False, as_index=False)[
        ["cosine", "density"]
    ].mean()


def _ridges(axes: "Axes", records: "DataFrame", groups: Sequence[str], colour: str) -> None:
    """Draw one filled curve per group, the lowest rating at the bottom, each a little over the one above."""
    highest = records["density"].max() or 1
    for place, group in reversed(list(enumerate(groups))):
        curve = records[records["group"] == group]
        heights, order = place + 1.6 * curve["density"] / highest, len(groups) - place
        axes.fill_between(
            curve["cosine"], place, heights, color=colour, alpha=0.28, linewidth=0, zorder=order
        )
        axes.plot(curve["cosine"], heights, color=colour, linewidth=0.9, zorder=order)
    axes.set_yticks(range(len(groups)), groups)


def _label_points(axes: "Axes", records: "DataFrame") -> None:
    """Name every point where its label hits no other label or point and stays inside the axes.

    A line leads to a label that is apart from its point.
    """
    from matplotlib.transforms import Bbox

    points = records[["uniformity", "alignment"]].to_numpy()
    radius = 4 * axes.figure.dpi / 72
    seeds = [pair.split(",") for each in records["seeds"] for pair in each.split()]
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


def _save(figure: "Figure", records: Records, stem: Path) -> list[Path]:
    written = []
    for kind, metadata in METADATA.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        with atomic_write(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=metadata)
        written.append(path)
    path = stem.with_name(f"{stem.name}.csv")
    write_rows(path, list(records[0]), records)
    return [*written, path]
