"""Agreement of a table's shape with the paper's: order of the rows, the best row, the sign of each ablation.

Orders and signs are defined at every scale, where absolute numbers are not comparable. Reported numbers are
plain mappings row -> number; ours are row -> one value per seed, all rows in one order of seeds (None where
missing). A row with a single value has no seeds of its own (a baseline): it is paired with every seed of the
others. Rows that only one of the two mappings names take no part.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from replicse.judge.report import BestRow, RankAgreement, RowDifference
from replicse.judge.statistics import BOUNDS, FEWEST_REDRAWN, mean_and_spread, paired_difference

if TYPE_CHECKING:
    import numpy as np

Printed = Mapping[str, float]
Ours = Mapping[str, Sequence[float | None]]
EXACT_ROWS, SAMPLES = 7, 2000
# Pairs of rows that are compared at once: 10,000 orders of 300 rows would be 3.6 GB each time otherwise.
PAIRS_AT_ONCE = 1_000_000


def rank_agreement(reported: Printed, ours: Ours, *, samples: int = SAMPLES) -> RankAgreement | None:
    """Return Kendall's tau-b over the rows with both numbers; None below two such rows or where all are tied.

    The p-value is that of a random order of our rows: every permutation up to seven rows, 10,000 random ones
    beyond.
    """
    import numpy as np

    by_row = {row: _present(ours.get(row, ())) for row in reported}
    values = {row: present for row, present in by_row.items() if present}
    if len(values) < 2:
        return None
    target, means = np.array([reported[row] for row in values], dtype=float), _means(values.values())
    tau = float(kendall_tau(means, target))
    if math.isnan(tau):
        return None
    generator = np.random.default_rng(0)
    redrawn = _redrawn_means(values.values(), samples, generator)
    draws = None if redrawn is None else kendall_tau(redrawn, target)
    low = high = None
    if draws is not None and not np.isnan(draws).all():
        low, high = np.nanquantile(draws, BOUNDS).tolist()
    return RankAgreement(tau, low, high, _permutation_p(means, target, tau, generator), len(target))


def best_row(reported: Printed, ours: Ours, *, better: str = "higher") -> BestRow | None:
    """Return the best rows of both sides; None below two rows or while one of them has no value."""
    values = {row: _present(ours[row]) for row in reported if row in ours}
    if len(values) < 2 or not all(values.values()):
        return None
    means = {row: mean_and_spread(present)[0] for row, present in values.items()}
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


def kendall_tau(first: "np.ndarray", second: "np.ndarray") -> "np.ndarray":
    """Return Kendall's tau-b of `first` (n, rows) or (rows,) with `second`, (rows,); NaN where a side is constant."""
    import numpy as np

    left, right = np.triu_indices(first.shape[-1], k=1)
    y = np.sign(second[left] - second[right])
    if first.ndim == 1:
        return _tau_of_pairs(first, y, left, right)
    block = max(1, PAIRS_AT_ONCE // max(1, len(left)))
    parts = [
        _tau_of_pairs(first[start : start + block], y, left, right) for start in range(0, len(first), block)
    ]
    return np.concatenate(parts)


def _tau_of_pairs(
    first: "np.ndarray", y: "np.ndarray", left: "np.ndarray", right: "np.ndarray"
) -> "np.ndarray":
    import numpy as np

    x = np.sign(first[..., left] - first[..., right])
    with np.errstate(invalid="ignore", divide="ignore"):
        # One root of the product, so that two untied orders that agree give 1 exactly; all sums are of whole numbers.
        return (x @ y) / np.sqrt(np.einsum("...i,...i->...", x, x) * (y @ y))


def _present(values: Sequence[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _means(values: Iterable[Sequence[float]]) -> "np.ndarray":
    import numpy as np

    return np.array([mean_and_spread(row)[0] for row in values])


def _redrawn_means(
    values: Collection[Sequence[float]], samples: int, generator: "np.random.Generator"
) -> "np.ndarray | None":
    """Return (samples, rows) means of redrawn seeds, each row on its own; None where they are too few.

    A row with a lone value among others that have seeds is a baseline: it stays where it is.
    """
    import numpy as np

    if min((len(row) for row in values if len(row) > 1), default=1) < FEWEST_REDRAWN:
        return None
    columns = [
        np.array(row)[generator.integers(len(row), size=(samples, len(row)))].mean(axis=1) for row in values
    ]
    return np.stack(columns, axis=1)


def _permutation_p(
    means: "np.ndarray", target: "np.ndarray", tau: float, generator: "np.random.Generator"
) -> float:
    """Return the share of orders of our rows that agree or disagree at least as much as the one found."""
    import numpy as np

    exact = len(means) <= EXACT_ROWS
    if exact:
        orders = np.array(list(itertools.permutations(range(len(means)))))
    else:
        orders = generator.permuted(np.tile(np.arange(len(means)), (10_000, 1)), axis=1)
    extreme = int((np.abs(kendall_tau(means[orders], target)) >= abs(tau) - 1e-9).sum())
    # The found order is one of the random ones too, so a random test never claims p = 0.
    return extreme / len(orders) if exact else (extreme + 1) / (len(orders) + 1)
