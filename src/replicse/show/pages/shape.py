"""The sheet of orders: rank correlation, best rows, signs."""

from collections.abc import Iterable
from operator import attrgetter

from replicse.judge.report.report_types import ColumnShape, Report, RowDifference
from replicse.show.content.numbers import plus_minus
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

MOST_TIED = 3


def shape_sheet(report: Report) -> Sheet:
    """Create a sheet with one line for each column of a table.

    Rows without a number are ignored.

    Args:
        report: The report of a study.
    """
    names = {item.item: item.row_names for item in report.items}

    def labels(shape: ColumnShape, rows: Iterable[str]) -> str:
        return ", ".join(names[shape.item][row].lstrip("* ") for row in rows)

    def best_in_print(shape: ColumnShape) -> str:
        if shape.best is None:
            return ""
        return labels(shape, shape.best.reported)

    def best_here(shape: ColumnShape) -> str:
        if shape.best is None:
            return ""
        ours = shape.best.ours
        text = labels(shape, ours)
        if len(ours) > MOST_TIED:
            text = f"{len(ours)} rows tied"
        return f"{text} (kept)" if shape.best.kept else text

    columns: Columns = {
        "Item": attrgetter("item"),
        "Column": attrgetter("label"),
        "Rows": lambda shape: str(shape.rank.n_rows),
        "Kendall's τ": lambda shape: plus_minus(shape.rank.tau),
        "p": lambda shape: f"{shape.rank.p:.2g}",
        "Best in print": best_in_print,
        "Best here": best_here,
        "Signs as in print": lambda shape: _signs(shape.signs),
    }
    return Sheet.of(
        "Agreement with the papers' orders and signs", report.shapes, columns, *paragraphs("shape")
    )


def _signs(signs: Iterable[RowDifference]) -> str:
    judged = agreeing = resolved = 0
    for sign in signs:
        if sign.agrees is not None:
            judged += 1
            agreeing += bool(sign.agrees)
            resolved += bool(sign.agrees) and sign.ours.resolved
    return f"{agreeing} of {judged} ({resolved} resolved)" if judged else ""
