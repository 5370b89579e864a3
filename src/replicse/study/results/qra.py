"""Measures of quantified reproducibility assessment, as other reproductions in the field give them.

Belz, Popovic and Mille 2022 ("Quantified Reproducibility Assessment of NLP Results") and Belz 2025 ("QRA++"): CV* of
single numbers, the correlation of two sets of results, and the share of conclusions that are upheld.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from replicse.study.results.shape import column_values, row_effects, shape_columns
from replicse.study.results.statistics import mean_and_spread
from replicse.study.results.table import CellResult, ColumnHead, ItemResult
from replicse.study.results.values import finite

FIELDS = (
    "paper", "item", "cells", "cv_star", "effects", "pearson", "spearman", "conclusions", "upheld", "claims",
    "claims_upheld",
)  # fmt: skip
FEWEST_EFFECTS = 3


def cv_star(measurements: Sequence[float]) -> float | None:
    """Return the small-sample coefficient of variation in percent: 100 (1 + 1/(4n)) s* / mean.

    s* is the unbiased standard deviation s / c4(n). None below two measurements, or where their mean is not positive:
    the measure is of a scale that starts at zero.
    """
    count = len(measurements)
    if count < 2:
        return None
    mean, spread = mean_and_spread(measurements)
    if mean <= 0 or spread is None:
        return None
    c4 = math.sqrt(2 / (count - 1)) * math.exp(math.lgamma(count / 2) - math.lgamma((count - 1) / 2))
    return 100 * (1 + 1 / (4 * count)) * spread / c4 / mean


def cell_cv_star(cell: CellResult, comparable: bool) -> float | None:
    """Return CV* of a printed number and ours; None where they are not comparable, not there, or a difference."""
    # A text has no reproduced number, and its print is none.
    if not comparable or cell.reproduced is None or cell.subtracted is not None or cell.verdict == "failed":
        return None
    number = cell.reported.number if cell.reported else None
    return cv_star([number.value, cell.reproduced]) if number else None


@dataclass(frozen=True)
class Assessment:
    """The measures of a table, or of a paper with a blank item; None where there is nothing to measure.

    `cv_star` is the mean over cells. An effect is a row less the baseline row of its table in one column, over the
    seeds that both have; a conclusion is which of two rows is higher in one column, upheld where ours says the same.
    """

    paper: str
    item: str
    cells: int
    cv_star: float | None
    effects: int
    pearson: float | None
    spearman: float | None
    conclusions: int
    upheld: float | None
    claims: int = 0
    claims_upheld: float | None = None

    def row(self) -> dict[str, str]:
        """Return the row of qra.csv as text."""
        texts = {name: getattr(self, name) for name in FIELDS}
        return {name: "" if text is None else str(text) for name, text in texts.items()}


@dataclass
class _Evidence:
    """What the measures of one table are made of: CV* by cell, pairs of effects, and conclusions."""

    cvs: list[float]
    effects: list[tuple[float, float]]
    upheld: list[bool]


def assessments(results: Sequence[ItemResult], claims: Iterable[Mapping[str, str]]) -> Iterator[Assessment]:
    """Yield the measures of every table that has some, then those of its paper with its claims.

    `claims` are rows of claims: one is a conclusion where print supports it and ours is decided.
    """
    rows = list(claims)
    for paper in dict.fromkeys(result.paper for result in results):
        together = _Evidence([], [], [])
        for result in results:
            if result.paper == paper:
                evidence = _evidence(result)
                together.cvs += evidence.cvs
                together.effects += evidence.effects
                together.upheld += evidence.upheld
                if evidence.cvs or evidence.upheld:
                    yield _assessment(paper, result.item.partition("/")[2], evidence)
        decided = [
            row["ours"] in ("supported", "for")
            for row in rows
            if row["claim"].partition("/")[0] == paper
            and row["reported"] == "supported"
            and row["ours"] in ("supported", "for", "contradicted", "against")
        ]
        if together.cvs or together.upheld or decided:
            yield _assessment(paper, "", together, decided)


def _assessment(paper: str, item: str, evidence: _Evidence, claims: Sequence[bool] = ()) -> Assessment:
    pearson, spearman = _correlations(evidence.effects)
    return Assessment(
        paper=paper,
        item=item,
        cells=len(evidence.cvs),
        cv_star=mean_and_spread(evidence.cvs)[0] if evidence.cvs else None,
        effects=len(evidence.effects),
        pearson=pearson,
        spearman=spearman,
        conclusions=len(evidence.upheld),
        upheld=_share(evidence.upheld),
        claims=len(claims),
        claims_upheld=_share(claims),
    )


def _share(outcomes: Sequence[bool]) -> float | None:
    return sum(outcomes) / len(outcomes) if outcomes else None


def _correlations(pairs: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Return Pearson's and Spearman's correlation of pairs; None below three, or where a side is constant."""
    if len(pairs) < FEWEST_EFFECTS:
        return None, None
    import numpy as np

    from replicse.evaluation.correlation import pearson, spearman

    first, second = np.array(pairs).T
    return pearson(first, second), spearman(first, second)


def _evidence(result: ItemResult) -> _Evidence:
    cvs = [cell_cv_star(cell, result.comparable) for cell in result.described.values()]
    effects = [(printed, ours.mean) for *_, printed, ours in row_effects(result) if printed is not None]
    upheld = [same for column in shape_columns(result) for same in _conclusions(result, column)]
    return _Evidence([cv for cv in cvs if cv is not None], effects, upheld)


def _conclusions(result: ItemResult, column: ColumnHead) -> Iterator[bool]:
    """Yield for every two rows of a column that differ in print whether ours differ the same way."""
    reported, ours = column_values(result, column)
    means = {row: mean_and_spread(present)[0] for row, each in ours.items() if (present := finite(each))}
    merged = {row.id for row in result.rows if row.merged}
    for one, other in combinations([row for row in reported if row in means and row not in merged], 2):
        if reported[one] != reported[other]:
            yield (reported[one] > reported[other]) == (means[one] > means[other]) and means[one] != means[
                other
            ]
