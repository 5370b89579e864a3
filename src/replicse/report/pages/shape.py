"""The sheet on the shape of the tables: rank agreement, best row, signs of the ablations."""

from collections.abc import Iterable

from replicse.report.content.cells import MINUS
from replicse.report.content.tables import Sheet
from replicse.study.results.agreement import BestRow, RankAgreement, SignAgreement
from replicse.study.results.shape import ColumnShape

MOST_TIED = 3
HEADER = ("Item", "Column", "Rows", "Kendall's τ", "p", "Best in print", "Best here", "Signs as in print")
NOTE = (
    "Orders and signs are defined at every scale. τ is 1 where our rows stand in the paper's order and −1 where they"
    " stand in the opposite one; its interval redraws our seeds, and p is the share of random orders that agree or"
    " disagree as strongly. A sign is that of a row's difference to the table's baseline row; those in brackets are"
    " the ones whose interval over seeds excludes zero."
)


def shape_sheet(shapes: Iterable[ColumnShape]) -> Sheet:
    """Return one row per column of a table; rows that were not run take no part."""
    rows = tuple(
        (
            shape.item,
            shape.label,
            str(shape.rank.n_rows),
            _rank(shape.rank),
            f"{shape.rank.p:.2g}",
            *_best(shape.best),
            _signs(shape.signs),
        )
        for shape in shapes
    )
    return Sheet("Agreement with the papers' orders and signs", HEADER, rows, NOTE)


def _rank(rank: RankAgreement) -> str:
    if rank.low is None or rank.high is None:
        return signed(rank.tau)
    return f"{signed(rank.tau)} [{signed(rank.low)}, {signed(rank.high)}]"


def signed(value: float) -> str:
    """Return a difference with its sign and two decimals."""
    return f"{value:+.2f}".replace("-", MINUS)


def _best(best: BestRow | None) -> tuple[str, str]:
    if best is None:
        return "", ""
    ours = ", ".join(best.ours) if len(best.ours) <= MOST_TIED else f"{len(best.ours)} rows tied"
    here = ours + (" (kept)" if best.kept else "")
    return ", ".join(best.reported), here


def _signs(signs: Iterable[SignAgreement]) -> str:
    judged = [sign for sign in signs if sign.agrees is not None]
    if not judged:
        return ""
    resolved = sum(sign.ours.resolved and bool(sign.agrees) for sign in judged)
    agreeing = sum(bool(sign.agrees) for sign in judged)
    return f"{agreeing} of {len(judged)} ({resolved} resolved)"
