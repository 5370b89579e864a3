"""Agreement of the shape of a table with the paper.

The shape is the order of the rows, the best row, and the sign of each ablation. Orders and signs can be compared at
every scale, even if absolute numbers cannot.

Printed numbers are a dict from row to number. Our numbers are a dict from row to a list with a value per seed, or None
for a missing value; all rows have the same order of seeds. A row with a single value (a baseline) has no seeds and is
paired with every seed of the other rows. Rows in only one of the two dicts are skipped.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from replicse.judge.report.report_types import BestRow, RankAgreement, RowDifference
from replicse.judge.statistics.intervals import mean_and_spread, paired_difference

Printed = Mapping[str, float]
Ours = Mapping[str, Sequence[float | None]]


def rank_agreement(reported: Printed, ours: Ours) -> RankAgreement | None:
    """Compute Kendall's tau-b between our row means and printed numbers.

    The p-value is exact without ties. With ties, a normal approximation is used.

    Args:
        reported: dict from row to printed number.
        ours: dict from row to our values.

    Returns:
        The agreement; None if fewer than two rows have both numbers, or if all numbers of a side are equal.
    """
    from scipy.stats import kendalltau

    means = {}
    for row in reported:
        values = finite_values(ours.get(row, ()))
        if values:
            means[row] = mean_and_spread(values)[0]
    if len(means) < 2:
        return None
    tau, p = kendalltau(list(means.values()), [reported[row] for row in means])
    if math.isnan(tau):
        return None
    return RankAgreement(float(tau), float(p), len(means))


def best_row(reported: Printed, ours: Ours, *, better: str = "higher") -> BestRow | None:
    """Find the best rows of the paper and of our results.

    Args:
        reported: dict from row to printed number.
        ours: dict from row to our values.
        better: which numbers are better, "higher" or "lower". Default: "higher".

    Returns:
        The best rows, including ties; None if fewer than two rows are in both dicts, or if a row has no finite value.
    """
    means = {}
    for row in reported:
        if row in ours:
            values = finite_values(ours[row])
            if not values:
                return None
            means[row] = mean_and_spread(values)[0]
    if len(means) < 2:
        return None
    best = max if better == "higher" else min
    return BestRow(_rows_at({row: reported[row] for row in means}, best), _rows_at(means, best))


def _rows_at(numbers: Mapping[str, float], best: Callable[[Iterable[float]], float]) -> tuple[str, ...]:
    extreme = best(numbers.values())
    return tuple(row for row, number in numbers.items() if number == extreme)


def row_differences(reported: Printed, ours: Ours, baseline: str) -> Iterator[RowDifference]:
    """Yield the difference of each row to the baseline row.

    Args:
        reported: dict from row to printed number.
        ours: dict from row to our values.
        baseline: the id of the baseline row.

    Yields:
        The printed difference (None unless both rows are printed), and our difference paired by seed.
    """
    if baseline not in ours:
        return
    for row in ours:
        paired = None if row == baseline else paired_difference(ours[row], ours[baseline])
        if paired is not None:
            printed = None
            if row in reported and baseline in reported:
                # Rounding removes binary noise: 82.5 - 82.2 is 0.3.
                printed = round(reported[row] - reported[baseline], 10)
            yield RowDifference(row, printed, paired)


def finite_values(values: Sequence[float | None]) -> list[float]:
    """Return the finite numbers; missing values are skipped."""
    return [float(value) for value in values if value is not None and math.isfinite(value)]
