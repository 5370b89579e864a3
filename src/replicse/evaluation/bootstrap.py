"""Bootstrap intervals over pairs: of rank correlations, and of differences of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from replicse.registry.levels import LEVEL

CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Estimate:
    """A value and the bounds of its interval."""

    value: float
    low: float
    high: float


# Rank correlations over pairs


def spearman_interval(
    scores: Sequence[float] | np.ndarray,
    gold: Sequence[float] | np.ndarray,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Estimate | None:
    """Return Spearman's correlation (in -1..1) with its percentile bootstrap interval over pairs.

    None where one side is constant: a collapsed encoder has no rank correlation.
    """
    ranked = [_MidRanks(scores), _MidRanks(gold)]
    return _bootstrapped(lambda counts: _spearman(counts, *ranked), ranked, samples, seed)


def spearman_difference(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    gold: Sequence[float] | np.ndarray,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Estimate | None:
    """Return Spearman of `first` minus Spearman of `second` on the same pairs, with its bootstrap interval.

    Both are read on the same resampled pairs: what is hard about a pair is hard for both encoders, so the
    interval is narrower than two separate ones suggest. None where a side is constant.
    """
    one, two, truth = ranked = [_MidRanks(side) for side in (first, second, gold)]

    def difference(counts: np.ndarray) -> np.ndarray:
        return _spearman(counts, one, truth) - _spearman(counts, two, truth)

    return _bootstrapped(difference, ranked, samples, seed)


class _MidRanks:
    """Mean ranks of the rows of a resample, given as counts per row: one sort serves every resample."""

    def __init__(self, values: Sequence[float] | np.ndarray) -> None:
        column = np.asarray(values, dtype=np.float64)
        if not np.isfinite(column).all():
            raise ValueError("rank correlation of values that are not finite")
        self.order = np.argsort(column, kind="stable")
        distinct, self.group = np.unique(column, return_inverse=True)
        self.starts = np.searchsorted(column[self.order], distinct)

    def __len__(self) -> int:
        return len(self.order)

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return the rank of each row in each resample; `counts` and the result are (resamples, rows)."""
        sizes = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        return (np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, self.group]


def _spearman(counts: np.ndarray, first: _MidRanks, second: _MidRanks) -> np.ndarray:
    """Return Spearman's correlation per resample; NaN where a side is constant in it."""
    middle = (len(first) + 1) / 2
    x, y = first(counts) - middle, second(counts) - middle
    weighted = counts * x
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.einsum("br,br->b", weighted, y) / np.sqrt(
            np.einsum("br,br->b", weighted, x) * np.einsum("br,br->b", counts * y, y)
        )


def _bootstrapped(
    statistic: Callable[[np.ndarray], np.ndarray],
    ranked: Sequence[_MidRanks],
    samples: int,
    seed: int,
) -> Estimate | None:
    rows = len(ranked[0])
    if any(len(side) != rows for side in ranked):
        raise ValueError(f"pairs of unequal length: {[len(side) for side in ranked]}")
    if rows < 2:
        return None
    value = float(statistic(np.ones((1, rows)))[0])
    if math.isnan(value):
        return None
    draws = np.concatenate([statistic(counts) for counts in _resamples(rows, samples, seed)])
    low, high = np.nanquantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _resamples(rows: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks of (resamples, rows): how often each row is drawn in a bootstrap resample."""
    generator = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // rows)
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = generator.integers(rows, size=(size, rows)) + rows * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)
