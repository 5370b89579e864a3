"""Figures from tidy data, each as SVG, PNG and PDF with reproducible bytes, and its data beside it as CSV."""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.errors import BadInput, nearest
from replicse.files import write_rows, written_aside
from replicse.report.content.records import SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]

# Okabe and Ito's palette, told apart by colour-blind readers; every line differs in its marker too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
INK, QUIET = "#1c2126", "#5b6670"
WIDTH, LABEL, TITLE = 6.4, 34, 26
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e8eb",
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "svg.hashsalt": "replicse",
    "svg.fonttype": "path",
    "savefig.dpi": 200,
}
METADATA = {
    "svg": {"Date": None, "Creator": "replicse"},
    "png": {"Software": None},
    "pdf": {"Creator": "replicse", "Producer": None, "CreationDate": None},
}


def draw(kind: str, records: Records, stem: Path, title: str = "") -> list[Path]:
    """Draw tidy records and return the files written: `stem` with .svg, .png, .pdf and .csv.

    The columns of each kind stand with its function. Raises BadInput for an unknown kind or no records.
    """
    if kind not in DRAWERS:
        raise BadInput(f'figure "{kind}" is unknown{nearest(kind, DRAWERS)}')
    if not records:
        raise BadInput(f"{stem}: nothing to draw; no cell of the figure has a number")
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = DRAWERS[kind](records)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, fontweight="bold", color=INK)
        return _save(figure, records, stem)


def trajectory(records: Records) -> "Figure":
    """Draw alignment against uniformity over training, one line per method with arrows along it.

    Records, in the order of training: method, step, alignment, uniformity, source (reported or reproduced).
    """
    methods = _order(records, "method")
    figure, panels = _panels_by_source(records)
    for axes, _, part in panels:
        for place, method in enumerate(methods):
            points = [entry for entry in part if entry["method"] == method]
            if points:
                _path(axes, points, place)
        _plane(axes)
    lines = [_handle(label=method, **_line_style(place)) for place, method in enumerate(methods)]
    ends = [
        _handle(
            color=QUIET, linestyle="", marker="o", markerfacecolor="white", markersize=7.5, label="start"
        ),
        _handle(color=QUIET, linestyle="", marker="o", markeredgecolor=INK, markersize=8.5, label="final"),
    ]
    figure.legend(handles=[*lines, *ends], loc="outside lower left", ncols=4)
    return figure


def scatter(records: Records) -> "Figure":
    """Draw encoders in the plane of alignment and uniformity, coloured by score.

    Records: label, alignment, uniformity, score (None where missing), metric (of the score), source.
    """
    from matplotlib.colors import Normalize

    scores = [entry["score"] for entry in records if entry["score"] is not None]
    norm = Normalize(min(scores), max(scores)) if scores else None
    figure, panels = _panels_by_source(records)
    for axes, _, part in panels:
        x, y = ([entry[name] for entry in part] for name in ("uniformity", "alignment"))
        known = [entry["score"] is not None for entry in part]
        for place in range(len(part)):
            colour = part[place]["score"] if known[place] else "#b9c2ca"
            style = {"c": [colour], "cmap": "cividis", "norm": norm} if known[place] else {"color": colour}
            points = axes.scatter(
                [x[place]], [y[place]], s=46, edgecolor=INK, linewidth=0.6, zorder=3, **style
            )
            if known[place]:
                coloured = points
        axes.margins(0.16)
        _plane(axes)
    if scores:
        figure.colorbar(coloured, ax=[axes for axes, _, _ in panels], label=records[0]["metric"], aspect=30)
    figure.draw_without_rendering()
    for axes, _, part in panels:
        _label_points(axes, part)
    return figure


def spectrum(records: Records) -> "Figure":
    """Draw singular values, the largest scaled to 1, one line per encoder. Records: encoder, index, value."""
    figure = _figure(3.6)
    axes = figure.subplots()
    for place, encoder in enumerate(_order(records, "encoder")):
        points = [entry for entry in records if entry["encoder"] == encoder]
        axes.plot(
            [entry["index"] for entry in points],
            [entry["value"] for entry in points],
            label=encoder,
            markevery=(0.03 * place, 0.2),
            **_line_style(place),
        )
    axes.set(xlabel="index of the singular value", ylabel="singular value / largest", ylim=(0, None))
    axes.legend()
    return figure


def density(records: Records) -> "Figure":
    """Draw the density of cosine similarity by rating group, one panel of ridges per encoder.

    Records: encoder, group (from the lowest rating to the highest), cosine, density.
    """
    encoders, groups = _order(records, "encoder"), _order(records, "group")
    columns = min(3, len(encoders))
    rows = -(-len(encoders) // columns)
    figure = _figure(0.5 + 2.2 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    # Only the cosines that occur are shown: no pair of most encoders is anywhere near -1.
    lowest = min((entry["cosine"] for entry in records if entry["density"] > 0), default=-1.0)
    for place, axes in enumerate(grid.flat):
        if place < len(encoders):
            part = [entry for entry in records if entry["encoder"] == encoders[place]]
            _ridges(axes, [entry for entry in part if entry["cosine"] >= lowest], groups)
            axes.set_title(textwrap.fill(str(encoders[place]), TITLE))
            axes.tick_params(labelbottom=place + columns >= len(encoders))
        else:
            axes.set_axis_off()
    figure.supxlabel("cosine similarity", fontsize=8.5, color=INK)
    figure.supylabel("rating", fontsize=8.5, color=INK)
    return figure


def profile(records: Records) -> "Figure":
    """Draw one column over an ordered row axis: the reported line and the reproduced one with its interval.

    Records, in the order of the rows: row, reported, reproduced, low, high (None where missing), metric. Rows
    whose names are numbers (`0.1`, `p = 0.1`) are joined by lines; others (`Fixed 0.1`) stand alone.
    """
    figure = _figure(3.3)
    axes = figure.subplots()
    places = range(len(records))
    joined = [_on_the_axis(entry["row"]) for entry in records]
    for source, colour, marker, fill in _LOOKS:
        values = [entry[source] for entry in records]
        chain = [
            float("nan") if value is None or not ok else value
            for value, ok in zip(values, joined, strict=True)
        ]
        axes.plot(places, chain, color=colour, linestyle="-" if fill else (0, (4, 2)), zorder=2)
        _points(axes, places, values, colour, marker, fill)
    for place, entry in enumerate(records):
        if entry["low"] is not None and entry["high"] is not None:
            axes.vlines(
                place, entry["low"], entry["high"], color=COLOURS[0], linewidth=4, alpha=0.25, zorder=1
            )
    axes.set_xticks(list(places), [str(entry["row"]) for entry in records])
    axes.set(ylabel=records[0]["metric"])
    axes.margins(x=0.06)
    figure.legend(handles=_source_handles(), loc="outside lower left", ncols=3)
    return figure


def bars(records: Records) -> "Figure":
    """Draw one column row by row: the reported point, ours and its interval. Records as for `profile`."""
    labels = [textwrap.fill(str(entry["row"]), LABEL) for entry in records]
    tallest = max(label.count("\n") + 1 for label in labels)
    figure = _figure(0.9 + len(records) * (0.14 + 0.14 * tallest))
    axes = figure.subplots()
    for place, entry in enumerate(records):
        ends = [entry[name] for name in SOURCES if entry[name] is not None]
        if len(ends) == 2:
            axes.hlines(place, *sorted(ends), color=QUIET, linewidth=0.8, zorder=1)
        if entry["low"] is not None and entry["high"] is not None:
            axes.hlines(
                place, entry["low"], entry["high"], color=COLOURS[0], linewidth=5, alpha=0.25, zorder=1
            )
    for source, colour, marker, fill in _LOOKS:
        values = [entry[source] for entry in records]
        _points(axes, values, range(len(records)), colour, marker, fill)
    axes.set_yticks(range(len(records)), labels)
    axes.set(xlabel=records[0]["metric"], ylim=(len(records) - 0.4, -0.6))
    figure.legend(handles=_source_handles(), loc="outside lower left", ncols=3)
    return figure


DRAWERS: dict[str, Callable[[Records], "Figure"]] = {
    "trajectory": trajectory,
    "scatter": scatter,
    "spectrum": spectrum,
    "density": density,
    "profile": profile,
    "bars": bars,
}
# Source, colour, marker, filled: reported is hollow and dashed wherever it stands beside ours.
_LOOKS = (("reported", QUIET, "s", False), ("reproduced", COLOURS[0], "o", True))


def _on_the_axis(row: object) -> bool:
    """Return whether a row's name is a number or sets one: `0.1`, `p = 0.1`, `10%`."""
    return re.fullmatch(r"(\S+ ?= ?)?[-+−]?\d*\.?\d+%?", str(row)) is not None


def _order(records: Records, name: str) -> list[Any]:
    return list(dict.fromkeys(entry[name] for entry in records))


def _figure(height: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _panels_by_source(records: Records) -> "tuple[Figure, list[tuple[Axes, str, Records]]]":
    """Return a figure with one panel per source, on shared axes so that they can be compared."""
    sources = _order(records, "source")
    figure = _figure(4.0)
    grid = figure.subplots(1, len(sources), sharex=True, sharey=True, squeeze=False)
    panels = []
    for axes, source in zip(grid.flat, sources, strict=True):
        if len(sources) > 1:
            title = source if source in SOURCES else f"reproduced: {source[0].lower()}{source[1:]}"
            axes.set_title(textwrap.fill(title, TITLE))
        panels.append((axes, source, [entry for entry in records if entry["source"] == source]))
    return figure, panels


def _plane(axes: "Axes") -> None:
    axes.set_xlabel("uniformity (lower is better)")
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("alignment (lower is better)")


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


def _path(axes: "Axes", points: Records, place: int) -> None:
    """Draw one method's way through the plane: start hollow, final point large, arrows on the way."""
    x = [entry["uniformity"] for entry in points]
    y = [entry["alignment"] for entry in points]
    look = _line_style(place)
    axes.plot(x, y, markersize=3, alpha=0.85, **look)
    ends = {"linestyle": "", "color": look["color"], "marker": look["marker"], "zorder": 4}
    axes.plot(x[:1], y[:1], markersize=7.5, markerfacecolor="white", markeredgewidth=1.3, **ends)
    axes.plot(x[-1:], y[-1:], markersize=8.5, markeredgecolor=INK, markeredgewidth=0.9, **ends)
    for first in _arrow_places(x, y):
        middle = ((x[first] + 2 * x[first + 1]) / 3, (y[first] + 2 * y[first + 1]) / 3)
        arrow = {"arrowstyle": "-|>", "color": look["color"], "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=middle, xytext=(x[first], y[first]), arrowprops={**arrow, "mutation_scale": 11})


def _arrow_places(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """Return the segments that hold a quarter, a half and three quarters of the way."""
    lengths = [
        ((x[place + 1] - x[place]) ** 2 + (y[place + 1] - y[place]) ** 2) ** 0.5
        for place in range(len(x) - 1)
    ]
    total, covered, wanted, places = sum(lengths), 0.0, [0.25, 0.5, 0.75], []
    for place, length in enumerate(lengths):
        covered += length
        if wanted and covered >= wanted[0] * total and length > 0:
            places.append(place)
            wanted = [share for share in wanted if share * total > covered]
    return places


def _points(axes: "Axes", x: Sequence[Any], y: Sequence[Any], colour: str, marker: str, filled: bool) -> None:
    pairs = [
        (left, right) for left, right in zip(x, y, strict=True) if left is not None and right is not None
    ]
    if pairs:
        face = colour if filled else "white"
        axes.plot(
            *zip(*pairs, strict=True), marker, color=colour, markerfacecolor=face, markersize=6, zorder=3
        )


def _source_handles() -> list[Any]:
    handles = [
        _handle(
            color=colour, marker=marker, linestyle="", markerfacecolor=colour if fill else "white", label=name
        )
        for name, colour, marker, fill in _LOOKS
    ]
    return [*handles, _handle(color=COLOURS[0], linewidth=5, alpha=0.25, label="one more run (95%)")]


def _ridges(axes: "Axes", records: Records, groups: Sequence[Any]) -> None:
    """Draw one filled curve per group, the lowest rating at the bottom, each a little over the one above."""
    highest = max((entry["density"] for entry in records), default=0) or 1
    for place, group in reversed(list(enumerate(groups))):
        curve = [entry for entry in records if entry["group"] == group]
        x = [entry["cosine"] for entry in curve]
        y = [place + 1.6 * entry["density"] / highest for entry in curve]
        axes.fill_between(x, place, y, color=COLOURS[0], alpha=0.28, linewidth=0, zorder=len(groups) - place)
        axes.plot(x, y, color=COLOURS[0], linewidth=0.9, zorder=len(groups) - place)
    axes.set_yticks(range(len(groups)), [str(group) for group in groups])


def _label_points(axes: "Axes", records: Records) -> None:
    """Name every point where its label hits no other label or point and stays inside the axes."""
    from matplotlib.transforms import Bbox

    renderer = axes.figure.canvas.get_renderer()
    places = [axes.transData.transform((entry["uniformity"], entry["alignment"])) for entry in records]
    radius = 4 * axes.figure.dpi / 72
    taken = [Bbox.from_extents(x - radius, y - radius, x + radius, y + radius) for x, y in places]
    for entry in records:
        score = "" if entry["score"] is None else f" ({entry['score']:.1f})"
        best = None
        for offset, horizontal, vertical in _OFFSETS:
            label = axes.annotate(
                f"{entry['label']}{score}",
                (entry["uniformity"], entry["alignment"]),
                xytext=offset,
                textcoords="offset points",
                ha=horizontal,
                va=vertical,
                fontsize=7.5,
                color=INK,
            )
            label.set_in_layout(False)
            box = label.get_window_extent(renderer)
            cost = (
                sum(_overlap(box, other) for other in taken)
                + box.width * box.height
                - _overlap(box, axes.bbox)
            )
            if best is None or cost < best[0]:
                if best is not None:
                    best[1].remove()
                best = (cost, label, box)
            else:
                label.remove()
        taken.append(best[2])


_OFFSETS = tuple(
    ((x * reach, y * reach), horizontal, vertical)
    for reach in (6, 12, 20, 30)
    for x, y, horizontal, vertical in (
        (1, 0, "left", "center"),
        (-1, 0, "right", "center"),
        (0, 1, "center", "bottom"),
        (0, -1, "center", "top"),
        (0.7, 0.7, "left", "bottom"),
        (-0.7, 0.7, "right", "bottom"),
        (0.7, -0.7, "left", "top"),
        (-0.7, -0.7, "right", "top"),
    )
)


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
