"""Figures from tidy data, each as SVG, PNG and PDF with reproducible bytes, and its data beside it as CSV."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replicse.errors import BadInput, nearest
from replicse.files import write_rows, written_aside
from replicse.report.content.records import SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
    from pandas import DataFrame

Records = Sequence[Mapping[str, Any]]
TEXTS = ("method", "step", "source", "label", "encoder", "group", "row", "column", "metric", "seeds")

# Okabe and Ito's palette, told apart by colour-blind readers; every line differs in its marker too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
INK, QUIET, PALE = "#1c2126", "#5b6670", "#b9c2ca"
WIDTH, LABEL, TITLE = 6.4, 34, 26
SPAN_BINS = 50
STYLE = Path(__file__).with_name("formats") / "templates" / "figures.mplstyle"
METADATA = {
    "svg": {"Date": None, "Creator": "replicse"},
    "png": {"Software": None},
    "pdf": {"Creator": "replicse", "Producer": None, "CreationDate": None},
}


def draw(kind: str, records: Records, stem: Path, title: str = "", caveat: str = "") -> list[Path]:
    """Draw tidy records and return the files written: `stem` with .svg, .png, .pdf and .csv.

    The columns of each kind stand with its function; every panel that shows ours carries the `caveat`, such as
    `micro: not comparable`. Raises BadInput for an unknown kind or no records.
    """
    if kind not in DRAWERS:
        raise BadInput(f'figure "{kind}" is unknown{nearest(kind, DRAWERS)}')
    if not records:
        raise BadInput(f"{stem}: nothing to draw; no cell of the figure has a number")
    import matplotlib

    with matplotlib.rc_context(fname=STYLE):
        figure = DRAWERS[kind](frame(records), caveat)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, fontweight="bold", color=INK)
        return _save(figure, records, stem)


def frame(records: Records) -> "DataFrame":
    """Return records as a table whose numbers are floats, NaN where one is missing."""
    from pandas import DataFrame

    table = DataFrame(records)
    return table.astype({name: float for name in table.columns if name not in TEXTS})


def trajectory(records: "DataFrame", caveat: str = "") -> "Figure":
    """Draw alignment against uniformity over training, one line per method with arrows along it.

    Records, in the order of training: method, step, alignment, uniformity, source (reported or reproduced).
    """
    looks = {method: _line_style(place) for place, method in enumerate(records["method"].unique())}
    figure, panels = _panels_by_source(records, caveat)
    for axes, part in panels:
        for method, points in part.groupby("method", sort=False):
            _path(axes, points["uniformity"].to_numpy(), points["alignment"].to_numpy(), looks[method])
    ends = {"color": QUIET, "linestyle": "", "marker": "o"}
    handles = [
        *(_handle(label=method, **look) for method, look in looks.items()),
        _handle(label="start", markerfacecolor="white", markersize=7.5, **ends),
        _handle(label="final", markeredgecolor=INK, markersize=8.5, **ends),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=4)
    return figure


def scatter(records: "DataFrame", caveat: str = "") -> "Figure":
    """Draw encoders in the plane of alignment and uniformity, coloured by score.

    Records: label, alignment, uniformity, score (None where missing), metric (of the score), source.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scores = records["score"]
    colours = ScalarMappable(Normalize(scores.min(), scores.max()), "cividis")
    figure, panels = _panels_by_source(records, caveat)
    for axes, part in panels:
        faces = [PALE if np.isnan(score) else colours.to_rgba(score) for score in part["score"]]
        look = {"s": 46, "edgecolor": INK, "linewidth": 0.6, "zorder": 3}
        axes.scatter(part["uniformity"], part["alignment"], c=faces, **look)
        axes.margins(0.16)
    if scores.notna().any():
        figure.colorbar(colours, ax=[axes for axes, _ in panels], label=records["metric"].iloc[0], aspect=30)
    figure.draw_without_rendering()
    for axes, part in panels:
        _label_points(axes, part)
    return figure


def spectrum(records: "DataFrame", caveat: str = "") -> "Figure":
    """Draw singular values, the largest scaled to 1, one line per encoder. Records: encoder, index, value."""
    figure = _figure(3.6)
    axes = figure.subplots()
    for place, (encoder, points) in enumerate(records.groupby("encoder", sort=False)):
        marks = (0.03 * place, 0.2)
        axes.plot(points["index"], points["value"], label=encoder, markevery=marks, **_line_style(place))
    axes.set_title(caveat, **CAVEAT)
    axes.set(xlabel="index of the singular value", ylabel="singular value / largest", ylim=(0, None))
    axes.legend()
    return figure


def density(records: "DataFrame", caveat: str = "", own_scales: bool = False) -> "Figure":
    """Draw the density of cosine similarity by rating group, one panel of ridges per encoder.

    Records: encoder, group (from the lowest rating to the highest), cosine, density. With `own_scales` each panel
    spans the cosines of its own encoder and says so, as in a figure whose encoders have little in common.
    """
    groups = records["group"].unique()
    # Only the cosines that occur are shown: no pair of most encoders is anywhere near -1.
    lowest = records["cosine"][records["density"] > 0].min()
    shown = records[~(records["cosine"] < lowest)]
    encoders = list(shown.groupby("encoder", sort=False))
    columns = min(3, len(encoders))
    rows = -(-len(encoders) // columns)
    figure = _figure(0.5 + 2.2 * rows)
    grid = figure.subplots(rows, columns, sharex=not own_scales, sharey=True, squeeze=False).flat
    for axes in grid[len(encoders) :]:
        axes.set_axis_off()
    for place, (axes, (encoder, part)) in enumerate(zip(grid, encoders, strict=False)):
        if own_scales:
            part = _own_span(part)
            axes.set_xlabel("own scale")
        _ridges(axes, part, groups)
        axes.set_title("\n".join(filter(None, [textwrap.fill(encoder, TITLE), caveat])))
        axes.tick_params(labelbottom=own_scales or place + columns >= len(encoders))
    figure.supxlabel("cosine similarity", fontsize=8.5, color=INK)
    figure.supylabel("rating", fontsize=8.5, color=INK)
    return figure


def profile(records: "DataFrame", caveat: str = "") -> "Figure":
    """Draw one column over an ordered row axis: the reported line and the reproduced one with its interval.

    Records, in the order of the rows: row, reported, reproduced, low, high (None where missing), metric, and seeds:
    those that are too few for an interval, a space between them. Rows whose names are numbers (`0.1`, `p = 0.1`) are
    joined by lines; others (`Fixed 0.1`) stand alone. Where records have a group, each has a panel, on one scale.
    """
    parts = _panels(records)
    columns = min(2, len(parts))
    rows = -(-len(parts) // columns)
    figure = _figure(0.5 + 2.8 * rows)
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False).flat
    for axes in grid[len(parts) :]:
        axes.set_axis_off()
    for place, (axes, (group, part)) in enumerate(zip(grid, parts, strict=False)):
        joined = part["row"].str.fullmatch(r"(\S+ ?= ?)?[-+−]?\d*\.?\d+(e-?\d+)?%?")
        for source, colour, _, fill in LOOKS:
            style = {"color": colour, "linestyle": "-" if fill else (0, (4, 2)), "zorder": 2}
            axes.plot(part.index, part[source].where(joined), **style)
        _beside(axes, part, upright=True)
        axes.set_xticks(part.index, part["row"])
        axes.set_title("\n".join(filter(None, [group, caveat])), **({} if group else CAVEAT))
        axes.set(ylabel="" if place % columns else records["metric"].iloc[0])
        axes.margins(x=0.06)
    return figure


def bars(records: "DataFrame", caveat: str = "") -> "Figure":
    """Draw a column row by row: the reported point, ours and its interval. Records as for `profile`."""
    parts = _panels(records)
    rows = max((part for _, part in parts), key=len)["row"]
    labels = {row: textwrap.fill(row, LABEL) for row in rows}
    tallest = max(label.count("\n") + 1 for label in labels.values())
    figure = _figure(0.9 + len(rows) * (0.14 + 0.14 * tallest))
    for axes, (_, part) in zip(
        figure.subplots(1, len(parts), sharey=True, squeeze=False)[0], parts, strict=True
    ):
        part = part.reset_index(drop=True)
        axes.hlines(part.index, part["reported"], part["reproduced"], color=QUIET, linewidth=0.8, zorder=1)
        _beside(axes, part, upright=False)
        axes.set_yticks(part.index, [labels[row] for row in part["row"]])
        axes.set_title(caveat, **CAVEAT)
        axes.set(xlabel=part["metric"].iloc[0], ylim=(len(part) - 0.4, -0.6))
    return figure


def heat(records: "DataFrame", caveat: str = "") -> "Figure":
    """Draw a number for each row and column as a shade. Records: row, column, value, metric; first row lowest."""
    rows, columns = (list(dict.fromkeys(records[side])) for side in ("row", "column"))
    grid = records.pivot_table(index="row", columns="column", values="value").loc[rows, columns].to_numpy()
    figure = _figure(3.6)
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
    axes.set_title(caveat, **CAVEAT)
    figure.colorbar(shades, ax=axes, label=records["metric"].iloc[0])
    return figure


DRAWERS: dict[str, Callable[["DataFrame", str], "Figure"]] = {
    "trajectory": trajectory,
    "scatter": scatter,
    "spectrum": spectrum,
    "density": density,
    "density-own-scales": partial(density, own_scales=True),
    "profile": profile,
    "bars": bars,
    "heat": heat,
}
# Where a label may stand beside its point, the nearest first: how far away, and which end of it is nearest.
SPOTS = [
    {"position": (x * reach, y * reach), "ha": horizontal, "va": vertical}
    for reach in (6, 12, 20, 30)
    for x, y, horizontal, vertical in (
        (1, 0, "left", "center"),
        (-1, 0, "right", "center"),
        (0, 1, "center", "bottom"),
        (0, -1, "center", "top"),
        (0.7, 0.7, "left", "bottom"),
        (0.7, -0.7, "left", "top"),
        (-0.7, 0.7, "right", "bottom"),
        (-0.7, -0.7, "right", "top"),
    )
]
# Source, colour, marker, filled: reported is hollow and dashed wherever it stands beside ours.
# What a panel of one kind of points says of its scale stands above it, to the right.
CAVEAT: dict[str, Any] = {"loc": "right", "fontsize": 8, "color": QUIET}
LOOKS = (("reported", QUIET, "s", False), ("reproduced", COLOURS[0], "o", True))


def _figure(height: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _panels(records: "DataFrame") -> "list[tuple[str, DataFrame]]":
    """Return the records of each group, or all of them where they have none."""
    return list(records.groupby("group", sort=False)) if "group" in records else [("", records)]


def _panels_by_source(records: "DataFrame", caveat: str) -> "tuple[Figure, list[tuple[Axes, DataFrame]]]":
    """Return a figure with one plane per source, on shared axes so that they can be compared."""
    parts = list(records.groupby("source", sort=False))
    figure = _figure(4.0)
    grid = figure.subplots(1, len(parts), sharex=True, sharey=True, squeeze=False).flat
    for axes, (source, _) in zip(grid, parts, strict=True):
        axes.set_xlabel("uniformity (lower is better)")
        title = source if source in SOURCES else f"reproduced: {source[0].lower()}{source[1:]}"
        lines = [
            textwrap.fill(title, TITLE) if len(parts) > 1 else "",
            caveat if source != SOURCES[0] else "",
        ]
        axes.set_title("\n".join(filter(None, lines)))
    grid[0].set_ylabel("alignment (lower is better)")
    return figure, [(axes, part) for axes, (_, part) in zip(grid, parts, strict=True)]


def _line_style(place: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        # A colour that comes round again comes with another marker, so that single points differ too.
        "marker": MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
    }


def _handle(**style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def _path(axes: "Axes", x: np.ndarray, y: np.ndarray, look: Mapping[str, Any]) -> None:
    """Draw one method's way through the plane: start hollow, final point large, arrows on the way."""
    axes.plot(x, y, markersize=3, alpha=0.85, **look)
    ends = {**look, "linestyle": "", "zorder": 4}
    axes.plot(x[:1], y[:1], markersize=7.5, markerfacecolor="white", markeredgewidth=1.3, **ends)
    axes.plot(x[-1:], y[-1:], markersize=8.5, markeredgecolor=INK, markeredgewidth=0.9, **ends)
    arrow = {"arrowstyle": "-|>", "color": look["color"], "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    for first in _arrow_places(x, y):
        start, end = (np.array([x[place], y[place]]) for place in (first, first + 1))
        middle = (start + 2 * end) / 3
        axes.annotate("", xy=middle, xytext=start, arrowprops={**arrow, "mutation_scale": 11})


def _arrow_places(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Return the segments that hold a quarter, a half and three quarters of the way."""
    covered = np.cumsum(np.hypot(np.diff(x), np.diff(y)))
    if not covered.size or covered[-1] == 0:
        return []
    return np.unique(np.searchsorted(covered, covered[-1] * np.array([0.25, 0.5, 0.75]))).tolist()


def _beside(axes: "Axes", records: "DataFrame", upright: bool) -> None:
    """Draw reported and reproduced points with the interval of one more run or the seeds, and the legend of all."""
    lines = axes.vlines if upright else axes.hlines
    interval = {"color": COLOURS[0], "linewidth": 5, "alpha": 0.25}
    lines(records.index, records["low"], records["high"], zorder=1, **interval)
    seed = {"color": COLOURS[0], "marker": "o", "markersize": 4, "markerfacecolor": "none", "linestyle": ""}
    for place, seeds in records["seeds"].items():
        values = [float(text) for text in seeds.split()]
        places = [place] * len(values)
        axes.plot(*((places, values) if upright else (values, places)), zorder=2, **seed)
    handles = []
    for source, colour, marker, fill in LOOKS:
        x, y = (records.index, records[source]) if upright else (records[source], records.index)
        style = {"color": colour, "marker": marker, "linestyle": ""}
        style["markerfacecolor"] = colour if fill else "white"
        axes.plot(x, y, markersize=6, zorder=3, **style)
        if records[source].notna().any():
            handles.append(_handle(label=source, **style))
    if records["low"].notna().any():
        handles.append(_handle(label="one more run (95%)", **interval))
    if records["seeds"].any():
        handles.append(_handle(label="one seed", **seed))
    if not axes.figure.legends:
        axes.figure.legend(handles=handles, loc="outside lower left", ncols=3)


def _own_span(records: "DataFrame") -> "DataFrame":
    """Return one encoder's densities from its lowest cosine to its highest, fine bins averaged to at most SPAN_BINS."""
    seen = records["cosine"][records["density"] > 0]
    part = records[records["cosine"].between(seen.min(), seen.max())]
    bins = part["cosine"].rank(method="dense").sub(1)
    joined = bins // max(1, -(-(bins.max() + 1) // SPAN_BINS))
    return part.groupby(["group", joined.rename("bin")], sort=False, as_index=False)[
        ["cosine", "density"]
    ].mean()


def _ridges(axes: "Axes", records: "DataFrame", groups: Sequence[str]) -> None:
    """Draw one filled curve per group, the lowest rating at the bottom, each a little over the one above."""
    highest = records["density"].max() or 1
    for place, group in reversed(list(enumerate(groups))):
        curve = records[records["group"] == group]
        heights, order = place + 1.6 * curve["density"] / highest, len(groups) - place
        axes.fill_between(
            curve["cosine"], place, heights, color=COLOURS[0], alpha=0.28, linewidth=0, zorder=order
        )
        axes.plot(curve["cosine"], heights, color=COLOURS[0], linewidth=0.9, zorder=order)
    axes.set_yticks(range(len(groups)), groups)


def _label_points(axes: "Axes", records: "DataFrame") -> None:
    """Name every point where its label hits no other label or point and stays inside the axes."""
    from matplotlib.transforms import Bbox

    points = records[["uniformity", "alignment"]].to_numpy()
    radius = 4 * axes.figure.dpi / 72
    taken = [Bbox([place - radius, place + radius]) for place in axes.transData.transform(points)]
    for point, name, score in zip(points, records["label"], records["score"], strict=True):
        text = name if np.isnan(score) else f"{name} ({score:.1f})"
        label = axes.annotate(text, point, (0, 0), textcoords="offset points", fontsize=7.5, color=INK)
        label.set_in_layout(False)
        label.set(**min(SPOTS, key=partial(_crowding, label, taken)))
        taken.append(label.get_window_extent())


def _crowding(label: "Text", taken: "Sequence[Bbox]", spot: Mapping[str, Any]) -> float:
    """Return how much of a label lies over what is taken, or outside of its axes, in one spot."""
    label.set(**spot)
    box = label.get_window_extent()
    outside = box.width * box.height - _overlap(box, label.axes.bbox)
    return outside + sum(_overlap(box, other) for other in taken)


def _overlap(first: Any, second: Any) -> float:
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(0.0, width) * max(0.0, height)


def _save(figure: "Figure", records: Records, stem: Path) -> list[Path]:
    written = []
    for kind, metadata in METADATA.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        with written_aside(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=metadata)
        written.append(path)
    path = stem.with_name(f"{stem.name}.csv")
    write_rows(path, list(records[0]), records)
    return [*written, path]
