"""Create empty figures of a paper's column width; define the text colours."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET = "#1c2126", "#5b6670"
COLUMN = 3.35


def canvas(height: float) -> "Figure":
    """Create an empty figure.

    `height` is in inches. Its canvas can measure texts.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
