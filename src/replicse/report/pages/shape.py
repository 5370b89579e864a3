"""The sheet on the shape of the tables: rank agreement, best row, signs of the ablations."""

from collections.abc import Iterable
from operator import attrgetter

from replicse.report.content.cells import plus_minus
from replicse.report.content.tables import Columns, Sheet
from replicse.study.results.agreement import BestRow, RankAgreement, SignAgreement
from replicse.study.results.shape import ColumnShape

MOST_TIED = 3
NOTE = (
    "Orders and signs are defined at every scale. τ is 1 where our rows are in the paper's order and −1 where they"
    " are in the opposite one; its interval redraws our seeds, and p is the share of random orders that agree or"
    " disagree as strongly. A sign is that of a row's difference to the table's baseline row; those in brackets are"
    " the ones whose interval over seeds excludes zero."
)


def shape_sheet(shapes: Iterable[ColumnShape]) -> Sheet:
    """Return one row per column of a table; rows that were not run take no part."""
    columns: Columns = {
        "Item": attrgetter("item"),
        "Column": attrgetter("label"),
        "Rows": lambda shape: str(shape.rank.n_rows),
        "Kendall's τ": lambda shape: _rank(shape.rank),
        "p": lambda shape: f"{shape.rank.p:.2g}",
        "Best in print": lambda shape: ", ".join(shape.best.reported) if shape.best else "",
        "Best here": lambda shape: _best(shape.best) if shape.best else "",
        "Signs as in print": lambda shape: _signs(shape.signs),
    }
    return Sheet.of("Agreement with the papers' orders and signs", shapes, columns, NOTE)


def _rank(rank: RankAgreement) -> str:
    if rank.low is None or rank.high is None:
        return plus_minus(rank.tau)
    return f"{plus_minus(rank.tau)} [{plus_minus(rank.low)}, {plus_minus(rank.high)}]"


def _best(best: BestRow) -> str:
    ours = ", ".join(best.ours) if len(best.ours) <= MOST_TIED else f"{len(best.ours)} rows tied"
    return ours + (" (kept)" if best.kept else "")


def _signs(signs: Iterable[SignAgreement]) -> str:
    judged = [sign for sign in signs if sign.agrees is not None]
    if not judged:
        return ""
    resolved = sum(sign.ours.resolved and bool(sign.agrees) for sign in judged)
    agreeing = sum(bool(sign.agrees) for sign in judged)
    return f"{agreeing} of {len(judged)} ({resolved} resolved)"
