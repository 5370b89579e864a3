"""Compare the shape of a table with the paper's.

The shape is the order of the rows, the best row, and the sign of each ablation. Orders and signs are defined at every
scale, also if absolute numbers are not comparable. Reported numbers are dicts row -> number; ours are dicts row -> one
value a seed in one order of seeds for all rows, None if it is missing. A row with a single value (a baseline) has no
seeds and is paired with every seed of the others. Rows that are in only one of the two dicts are ignored.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from replicse.judge.report.report_types import BestRow, RankAgreement, RowDifference
from replicse.judge.statistics.intervals import mean_and_spread, paired_difference

Printed = Mapping[str, float]
Ours = Mapping[str, Sequence[float | None]]


def rank_agreement(reported: Printed, ours: Ours) -> RankAgreement | None:
    """Compute Kendall's tau-b between our row means and printed numbers.

    The p-value is exact without ties and a normal approximation otherwise.

    Returns:
        The agreement; None for fewer than two rows with both numbers, or if all numbers of a side are equal.
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
    return None if math.isnan(tau) else RankAgreement(float(tau), float(p), len(means))


def best_row(reported: Printed, ours: Ours, *, better: str = "higher") -> BestRow | None:
    """Return the best rows of both sides.

    Returns None for fewer than two rows, or if one of them has no value.
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
    """Yield the difference of each row to the baseline row, ours and printed."""
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
