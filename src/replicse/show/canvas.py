"""Empty figures with the width of a paper's column, and text colours."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET = "#1c2126", "#5b6670"
COLUMN = 3.35


def canvas(height: float) -> "Figure":
    """Create an empty figure whose canvas can measure text.

    Args:
        height: Height in inches.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
