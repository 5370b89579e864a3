"""Figures from tidy data: each is written as SVG, PNG and PDF, byte for byte the same, with its data as CSV."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.errors import BadInput, nearest
from replicse.files import written_aside
from replicse.report.cells import shown_verdict
from replicse.report.items import Item, Result
from replicse.report.tables import AS_DESCRIBED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]

# Okabe and Ito's palette, told apart by colour-blind readers; every line differs in its marker too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
INK, QUIET = "#1c2126", "#5b6670"
WIDTH = 6.4
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
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}
METADATA = {
    "svg": {"Date": None, "Creator": "replicse"},
    "png": {"Software": None},
    "pdf": {"Creator": "replicse", "Producer": None, "CreationDate": None},
}
