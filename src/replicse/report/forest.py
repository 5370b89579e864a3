"""The forest plot of a cell: the seeds of each lab, their means, and the mean over labs with its interval."""

from pathlib import Path

from replicse.files import atomic_write
from replicse.report.canvas import INK, QUIET, canvas
from replicse.report.figures import COLOURS, METADATA, STYLE
from replicse.study.results.labs import pooled_draws
from replicse.study.results.table import CellResult, ItemResult

ROW, HEAD, WRAPPED = 0.42, 1.15, 46


def forest(item: ItemResult, cell: CellResult, file: Path) -> None:
    """Draw one cell as SVG: a line per lab, the pooled mean below, and what is printed as a dashed line."""
    import textwrap

    import matplotlib

    pool = pooled_draws(cell.values)
    if pool is None:
        return
    by_lab = pool.by_lab
    with matplotlib.rc_context(fname=STYLE):
        figure = canvas(HEAD + ROW * (len(by_lab) + 1))
        axes = figure.add_subplot()
        for place, values in enumerate(by_lab.values()):
            axes.plot(values, [place] * len(values), "o", color=COLOURS[0], alpha=0.45, markersize=4)
            axes.plot([sum(values) / len(values)], [place], "s", color=COLOURS[0], markersize=6)
        half = pool.half or 0.0
        axes.errorbar(
            [pool.mean], [len(by_lab)], xerr=[half] if half else None, fmt="D", color=COLOURS[1], capsize=3
        )
        number = cell.reported.number if cell.reported else None
        if number and item.comparable:
            axes.axvline(number.value, linestyle="--", color=QUIET, linewidth=1)
            axes.annotate(
                "in print", (number.value, 1), xycoords=("data", "axes fraction"), fontsize=7, color=QUIET
            )
        labels = [f"{textwrap.fill(lab, WRAPPED)}" for lab in by_lab]
        axes.set_yticks(range(len(by_lab) + 1), [*labels, f"{len(by_lab)} labs"], fontsize=7)
        axes.invert_yaxis()
        axes.margins(y=0.25)
        axes.set_xlabel(next((one.label for one in item.columns if one.id == cell.column), cell.column))
        caveat = f" · {item.caveat}" if item.caveat else ""
        title = f"{item.item} · {item.row_names.get(cell.row, cell.row)}{caveat}\n{pool}"
        axes.set_title(title, loc="left", fontsize=8, color=INK)
        with atomic_write(file) as temporary:
            figure.savefig(temporary, format="svg", metadata=METADATA["svg"])
