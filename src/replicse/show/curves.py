"""Figures of singular values and of densities of cosine similarity."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replicse.show.canvas import INK, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
from replicse.show.looks import TITLE, method_looks, panel_grid

SPAN_BINS = 50
LEAST_SPAN = 0.2  # minimum range of the cosines on an axis


def spectrum(records: "DataFrame") -> "Figure":
    """Draw singular values relative to the largest, a line per encoder.

    Args:
        records: A row for each singular value with the columns encoder, index and value.
    """
    figure = canvas(2.4)
    axes = figure.subplots()
    looks = method_looks(records["encoder"].unique())
    for place, (encoder, points) in enumerate(records.groupby("encoder", sort=False)):
        marks = (0.03 * place, 0.2)
        axes.plot(points["index"], points["value"], label=encoder, markevery=marks, **looks[encoder])
    axes.set(xlabel="index of the singular value", ylabel="singular value / largest", ylim=(0, None))
    axes.legend()
    return figure


def density(records: "DataFrame", own_scales: bool = False) -> "Figure":
    """Draw the density of cosine similarity by group of ratings.

    By default, all panels show the same range of cosines.

    Args:
        records: A row for each bin with the columns encoder, group (from the lowest to the highest rating), cosine and
            density.
        own_scales: Whether the axis of each panel contains only the cosines of the encoder. Default: False.

    Returns:
        A figure with a panel for each encoder.
    """
    groups = records["group"].unique()
    # Show only the cosines that occur, because cosines near -1 are rare.
    seen = records["cosine"][records["density"] > 0]
    # If all cosines are in one or two bins, the curve should be a spike and not fill the axis.
    lowest = min(seen.min(), seen.max() - LEAST_SPAN)
    shown = records[~(records["cosine"] < lowest)]
    encoders = list(shown.groupby("encoder", sort=False))
    looks = method_looks(encoder for encoder, _ in encoders)
    figure, grid, columns = panel_grid(len(encoders), 2, (0.4, 1.5), sharex=not own_scales, sharey=True)
    for place, (axes, (encoder, part)) in enumerate(zip(grid, encoders, strict=True)):
        if own_scales:
            part = _own_span(part)
            axes.set_xlabel("own scale")
        _ridges(axes, part, groups, looks[encoder]["color"])
        axes.set_title(textwrap.fill(encoder, TITLE))
        axes.tick_params(labelbottom=own_scales or place + columns >= len(encoders))
    figure.supxlabel("cosine similarity", color=INK)
    figure.supylabel("rating", color=INK)
    return figure


def _own_span(records: "DataFrame") -> "DataFrame":
    """Restrict densities to the cosines of an encoder and merge bins."""
    seen = records["cosine"][records["density"] > 0]
    part = records[records["cosine"].between(seen.min(), seen.max())]
    bins = part["cosine"].rank(method="dense").sub(1)
    joined = bins // max(1, -(-(bins.max() + 1) // SPAN_BINS))
    return part.groupby(["group", joined.rename("bin")], sort=False, as_index=False)[
        ["cosine", "density"]
    ].mean()


def _ridges(axes: "Axes", records: "DataFrame", groups: Sequence[str], colour: str) -> None:
    """Draw a filled curve for each group, the lowest rating at the bottom."""
    highest = records["density"].max() or 1
    for place, group in reversed(list(enumerate(groups))):
        curve = records[records["group"] == group]
        heights, order = place + 1.6 * curve["density"] / highest, len(groups) - place
        axes.fill_between(
            curve["cosine"], place, heights, color=colour, alpha=0.28, linewidth=0, zorder=order
        )
        axes.plot(curve["cosine"], heights, color=colour, linewidth=0.9, zorder=order)
    axes.set_yticks(range(len(groups)), groups)
