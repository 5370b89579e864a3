"""Draw curves: singular values, densities of cosine similarity."""

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
LEAST_SPAN = 0.2  # of the cosines on an axis


def spectrum(records: "DataFrame") -> "Figure":
    """Draw singular values relative to the largest, a line per encoder.

    Records have the columns encoder, index and value.
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

    Args:
        records: Columns encoder, group (from the lowest rating to the highest), cosine and density.
        own_scales: Whether the axis of each panel spans only the cosines of its encoder; the panel then says so.
    """
    groups = records["group"].unique()
    # Only the cosines that occur are shown: no pair of most encoders is anywhere near -1.
    seen = records["cosine"][records["density"] > 0]
    # Cosines in one or two bins are a spike and not a slope over the whole axis.
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
    """Restrict densities to the encoder's cosines; merge fine bins."""
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
