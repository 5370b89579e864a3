"""What every drawing begins with: an empty figure of the report's width or of a column, and its inks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET = "#1c2126", "#5b6670"
WIDTH, COLUMN = 6.4, 3.35


def canvas(height: float, width: float = WIDTH) -> "Figure":
    """Return an empty figure of a size in inches, with a renderer that measures its texts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
