"""The sheet of orders: rank correlation, best rows, signs."""

from collections.abc import Iterable
from operator import attrgetter

from replicse.judge.report.report_types import BestRow, ColumnShape, Report, RowDifference
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

    def best(shape: ColumnShape, sides: BestRow) -> str:
        ours = sides.ours
        text = labels(shape, ours) if len(ours) <= MOST_TIED else f"{len(ours)} rows tied"
        return f"{text} (kept)" if sides.kept else text

    columns: Columns = {
        "Item": attrgetter("item"),
        "Column": attrgetter("label"),
        "Rows": lambda shape: str(shape.rank.n_rows),
        "Kendall's τ": lambda shape: plus_minus(shape.rank.tau),
        "p": lambda shape: f"{shape.rank.p:.2g}",
        "Best in print": lambda shape: labels(shape, shape.best.reported) if shape.best else "",
        "Best here": lambda shape: best(shape, shape.best) if shape.best else "",
        "Signs as in print": lambda shape: _signs(shape.signs),
    }
    return Sheet.of(
        "Agreement with the papers' orders and signs", report.shapes, columns, *paragraphs("shape")
    )


def _signs(signs: Iterable[RowDifference]) -> str:
    judged = [sign for sign in signs if sign.agrees is not None]
    if not judged:
        return ""
    resolved = sum(sign.ours.resolved and bool(sign.agrees) for sign in judged)
    agreeing = sum(bool(sign.agrees) for sign in judged)
    return f"{agreeing} of {len(judged)} ({resolved} resolved)"
