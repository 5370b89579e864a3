"""Styles of figures: colours and markers of methods, panels, legends."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from replicse.checked import read_yaml
from replicse.show.canvas import canvas
from replicse.workspace import packaged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Palette of Okabe and Ito for colour-blind readers; lines also differ in markers and dashes.
BLACK = "#000000"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", BLACK, "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (2.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
FILLS = ("full", "left", "bottom", "right")
# Maximum number of characters in a line of a panel's title and of a row's name.
TITLE, LABEL = 24, 27
# Height of a line of a legend in inches.
LINE = 0.15
# Panels share an axis if each of them fills at least this part of the axis.
LEAST_SHARE = 0.2
ONE_SEED: dict[str, Any] = {
    "color": COLOURS[0],
    "marker": "o",
    "markersize": 3,
    "markerfacecolor": "none",
    "linestyle": "",
}


def panel_grid(
    count: int, most: int, height: tuple[float, float], **shared: Any
) -> "tuple[Figure, list[Axes], int]":
    """Create a figure with panels.

    Args:
        count: Number of panels.
        most: Maximum number of panels in a row.
        height: Height of the margins and of a row, in inches.
        shared: Options of `Figure.subplots`, such as sharex.

    Returns:
        The figure, a list of panels and the number of columns.
    """
    columns = min(most, count)
    rows = -(-count // columns)
    figure = canvas(height[0] + height[1] * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False, **shared).flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels[:count], columns


def fill_one_axis(parts: Sequence[np.ndarray]) -> bool:
    """Return whether panels are readable with a shared axis.

    Each panel should fill at least LEAST_SHARE of the axis, unless it has only one value.
    """
    spans = [np.nanmax(part) - np.nanmin(part) for part in parts]
    whole = max(map(np.nanmax, parts)) - min(map(np.nanmin, parts))
    return all(span >= LEAST_SHARE * whole or not span for span in spans)


def row_names(rows: Iterable[str]) -> tuple[list[str], float]:
    """Wrap the names of rows.

    Returns:
        A list of names with line breaks, and the height of a row in inches.
    """
    names = [textwrap.fill(row, LABEL) for row in rows]
    return names, 0.07 + 0.11 * max(name.count("\n") + 1 for name in names)


def method_looks(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the style of each label.

    Labels with the same method have the same colour and differ in dashes and filling. A label of an unknown method has
    the first unused colour, but never black.

    Args:
        labels: Labels that may contain the name of a method.

    Returns:
        A dict from labels to dicts of matplotlib options.
    """
    labels = list(labels)
    known = {label: _method_place(label) for label in labels}
    used = [place for place in known.values() if place is not None]
    seen, looks = Counter[int](), {}
    for label in labels:
        place = known[label]
        if place is None:
            place = _unused_place(used)
            used.append(place)
        looks[label] = _line_style(place, seen[place])
        seen[place] += 1
    return looks


def _method_place(label: str) -> int | None:
    """Return the index of the method in a label; None if it is unknown."""
    for place, method in enumerate(_methods()):
        if re.search(method, label, re.IGNORECASE):
            return place
    return None


def _unused_place(used: Sequence[int]) -> int:
    """Return an index after the methods whose colour is least used.

    Black is never used.
    """
    colours = Counter(place % len(COLOURS) for place in used)
    first = len(_methods())
    coloured = []
    for place in range(first, first + len(COLOURS)):
        if COLOURS[place % len(COLOURS)] != BLACK:
            coloured.append(place)
    return min(coloured, key=lambda place: colours[place % len(COLOURS)])


@cache
def _methods() -> Sequence[str]:
    """Load the patterns of methods; the index of a method sets its style."""
    return tuple(read_yaml(packaged("workflow", "figures.yaml"))["methods"])


def _line_style(place: int, again: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        # If colours repeat, markers differ, so that single points can be distinguished.
        "marker": MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        "linestyle": DASHES[(place + place // len(COLOURS) + again) % len(DASHES)],
        "fillstyle": FILLS[again % len(FILLS)],
    }


def handle(**style: Any) -> Any:
    """Create an entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def put_legend(figure: "Figure", handles: list[Any], columns: int) -> None:
    """Put a legend below the axes.

    Two lines fit into the figure; for each further line, the figure becomes higher.

    Args:
        figure: The figure.
        handles: The entries.
        columns: The maximum number of columns. It is reduced if the figure is too narrow.
    """
    for most in range(columns, 0, -1):
        legend = figure.legend(handles=handles, loc="outside lower left", ncols=most)
        if most == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + LINE * max(0, -(-len(handles) // most) - 2))
