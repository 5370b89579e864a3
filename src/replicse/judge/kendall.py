"""Kendall's tau of a table's rows with the paper's, of numbers as `agreement` takes them."""

import itertools
import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from replicse.judge.agreement import Ours, Printed, present
from replicse.judge.report import RankAgreement
from replicse.judge.statistics import BOUNDS, FEWEST_REDRAWN, mean_and_spread

EXACT_ROWS, SAMPLES = 7, 2000
# Pairs of rows that are compared at once: 10,000 orders of 300 rows would be 3.6 GB each time otherwise.
PAIRS_AT_ONCE = 1_000_000


def rank_agreement(reported: Printed, ours: Ours, *, samples: int = SAMPLES) -> RankAgreement | None:
    """Return Kendall's tau-b over the rows with both numbers; None below two such rows or where all are tied.

    The p-value is that of a random order of our rows: every permutation up to seven rows, 10,000 random ones
    beyond.
    """
    by_row = {row: present(ours.get(row, ())) for row in reported}
    values = {row: each for row, each in by_row.items() if each}
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


def kendall_tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b of `first` (n, rows) or (rows,) with `second`, (rows,); NaN where a side is constant."""
    left, right = np.triu_indices(first.shape[-1], k=1)
    y = np.sign(second[left] - second[right])
    if first.ndim == 1:
        return _tau_of_pairs(first, y, left, right)
    block = max(1, PAIRS_AT_ONCE // max(1, len(left)))
    parts = [
        _tau_of_pairs(first[start : start + block], y, left, right) for start in range(0, len(first), block)
    ]
    return np.concatenate(parts)


def _tau_of_pairs(first: np.ndarray, y: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    x = np.sign(first[..., left] - first[..., right])
    with np.errstate(invalid="ignore", divide="ignore"):
        # One root of the product, so that two untied orders that agree give 1 exactly; all sums are of whole numbers.
        return (x @ y) / np.sqrt(np.einsum("...i,...i->...", x, x) * (y @ y))


def _means(values: Iterable[Sequence[float]]) -> np.ndarray:
    return np.array([mean_and_spread(row)[0] for row in values])


def _redrawn_means(
    values: Collection[Sequence[float]], samples: int, generator: np.random.Generator
) -> np.ndarray | None:
    """Return (samples, rows) means of redrawn seeds, each row on its own; None where they are too few.

    A row with a lone value among others that have seeds is a baseline: it stays where it is.
    """
    if min((len(row) for row in values if len(row) > 1), default=1) < FEWEST_REDRAWN:
        return None
    columns = [
        np.array(row)[generator.integers(len(row), size=(samples, len(row)))].mean(axis=1) for row in values
    ]
    return np.stack(columns, axis=1)


def _permutation_p(
    means: np.ndarray, target: np.ndarray, tau: float, generator: np.random.Generator
) -> float:
    """Return the share of orders of our rows that agree or disagree at least as much as the one found."""
    exact = len(means) <= EXACT_ROWS
    if exact:
        orders = np.array(list(itertools.permutations(range(len(means)))))
    else:
        orders = generator.permuted(np.tile(np.arange(len(means)), (10_000, 1)), axis=1)
    extreme = int((np.abs(kendall_tau(means[orders], target)) >= abs(tau) - 1e-9).sum())
    # The found order is one of the random ones too, so a random test never claims p = 0.
    return extreme / len(orders) if exact else (extreme + 1) / (len(orders) + 1)
