"""What every drawing begins with: an empty figure as wide as a column of a paper, and its inks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET = "#1c2126", "#5b6670"
COLUMN = 3.35


def canvas(height: float) -> "Figure":
    """Return an empty figure of a height in inches, with a renderer that measures its texts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
