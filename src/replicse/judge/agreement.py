"""Agreement of a table's shape with the paper's: the order of its rows, the best one, the sign of each ablation.

Orders and signs are defined at every scale, where absolute numbers are not comparable. Reported numbers are
plain mappings row -> number; ours are row -> one value per seed, all rows in one order of seeds (None where
missing). A row with a single value has no seeds of its own (a baseline): it is paired with every seed of the
others. Rows that only one of the two mappings names take no part.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from replicse.judge.report import BestRow, RankAgreement, RowDifference
from replicse.judge.statistics import mean_and_spread, paired_difference

Printed = Mapping[str, float]
Ours = Mapping[str, Sequence[float | None]]


def rank_agreement(reported: Printed, ours: Ours) -> RankAgreement | None:
    """Return Kendall's tau-b of our row means with the printed numbers, and its two-sided p-value.

    The p-value is exact without ties, else that of the normal approximation. None below two rows that have both
    numbers, or if all of a side are tied.
    """
    from scipy.stats import kendalltau

    means = {}
    for row in reported:
        if values := present(ours.get(row, ())):
            means[row] = mean_and_spread(values)[0]
    if len(means) < 2:
        return None
    tau, p = kendalltau(list(means.values()), [reported[row] for row in means])
    return None if math.isnan(tau) else RankAgreement(float(tau), float(p), len(means))


def best_row(reported: Printed, ours: Ours, *, better: str = "higher") -> BestRow | None:
    """Return the best rows of both sides; None below two rows or while one of them has no value."""
    values = {row: present(ours[row]) for row in reported if row in ours}
    if len(values) < 2 or not all(values.values()):
        return None
    means = {row: mean_and_spread(each)[0] for row, each in values.items()}
    best = max if better == "higher" else min
    return BestRow(_rows_at({row: reported[row] for row in values}, best), _rows_at(means, best))


def _rows_at(numbers: Mapping[str, float], best: Callable[[Iterable[float]], float]) -> tuple[str, ...]:
    extreme = best(numbers.values())
    return tuple(row for row, number in numbers.items() if number == extreme)


def row_differences(reported: Printed, ours: Ours, baseline: str) -> Iterator[RowDifference]:
    """Yield each other row of ours less the baseline row."""
    for row in ours if baseline in ours else ():
        paired = None if row == baseline else paired_difference(ours[row], ours[baseline])
        if paired is not None:
            both = row in reported and baseline in reported
            # A printed difference without binary noise: 82.5 - 82.2 is 0.3.
            printed = round(reported[row] - reported[baseline], 10) if both else None
            yield RowDifference(row, printed, paired)


def present(values: Sequence[float | None]) -> list[float]:
    """Return the numbers that are there and finite."""
    return [float(value) for value in values if value is not None and math.isfinite(value)]
