"""Bootstrap confidence intervals of rank correlations over pairs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from replicse.registry.levels import LEVEL

CELLS_AT_ONCE = 1 << 20
# A thousand resamples of two million pairs would take longer than all other scores of these pairs.
MOST_ROWS = 100_000


@dataclass(frozen=True)
class Estimate:
    """A value and the confidence interval.

    Attributes:
        value: The value.
        low: The lower end of the interval.
        high: The upper end of the interval.
    """

    value: float
    low: float
    high: float


def spearman_interval(
    scores: Sequence[float] | np.ndarray,
    gold: Sequence[float] | np.ndarray,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Estimate | None:
    """Compute Spearman's correlation with a percentile bootstrap interval.

    If there are more than `MOST_ROWS` pairs, a random part of them is resampled. The interval is scaled like
    a standard error, by the square root of the share of the part. The default seed is
    fixed, so that the interval is reproducible.

    Args:
        scores: The scores of n pairs.
        gold: The gold scores of the pairs.
        samples: The number of bootstrap resamples over pairs. Default: 1000.
        seed: The seed of the resamples. Default: 0.

    Returns:
        The correlation in [-1, 1] with a 95% interval. None if all scores or all gold scores are equal,
        because a collapsed encoder has no rank correlation.
    """
    first, second = _MidRanks(scores), _MidRanks(gold)
    rows = len(first)
    if rows < 2:
        return None
    value = float(_spearman(np.ones((1, rows)), first, second)[0])
    if math.isnan(value):
        return None
    if rows > MOST_ROWS:
        chosen = np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False)
        sides = (np.asarray(side)[chosen] for side in (scores, gold))
        part = spearman_interval(*sides, samples=samples, seed=seed)
        return _scale_interval(part, value, math.sqrt(MOST_ROWS / rows)) if part else None
    draws = [_spearman(counts, first, second) for counts in _resamples(rows, samples, seed)]
    low, high = np.nanquantile(np.concatenate(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def spearman_difference(
    first: np.ndarray, second: np.ndarray, gold: np.ndarray, *, samples: int = 1000, seed: int = 0
) -> Estimate | None:
    """Compare two encoders by a paired bootstrap over pairs.

    Both correlations are computed on the same resamples. If there are more than `MOST_ROWS` pairs, a random part is
    resampled, as in `spearman_interval`.

    Args:
        first: The cosines of the first encoder, (pairs,).
        second: The cosines of the second encoder, (pairs,).
        gold: The gold scores of the pairs, (pairs,).
        samples: The number of bootstrap resamples over pairs. Default: 1000.
        seed: The seed of the resamples. Default: 0.

    Returns:
        The second correlation minus the first, with a 95% interval. None if a correlation is undefined.
    """
    ranks = [_MidRanks(values) for values in (first, second, gold)]
    rows = len(gold)
    value = float(_difference(np.ones((1, rows)), *ranks)[0]) if rows > 1 else math.nan
    if math.isnan(value):
        return None
    if rows > MOST_ROWS:
        chosen = np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False)
        part = spearman_difference(first[chosen], second[chosen], gold[chosen], samples=samples, seed=seed)
        return _scale_interval(part, value, math.sqrt(MOST_ROWS / rows)) if part else None
    draws = [_difference(counts, *ranks) for counts in _resamples(rows, samples, seed)]
    low, high = np.nanquantile(np.concatenate(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _difference(counts: np.ndarray, first: "_MidRanks", second: "_MidRanks", gold: "_MidRanks") -> np.ndarray:
    """Return the difference of the correlations per resample."""
    return _spearman(counts, second, gold) - _spearman(counts, first, gold)


def _scale_interval(part: Estimate, value: float, factor: float) -> Estimate:
    """Return the interval of a part, scaled and moved to the full value."""
    low = value + factor * (part.low - part.value)
    high = value + factor * (part.high - part.value)
    return Estimate(value, max(-1.0, low), min(1.0, high))


class _MidRanks:
    """Mean ranks of the rows of resamples, which are counts per row.

    The values are sorted once for all resamples.
    """

    def __init__(self, values: Sequence[float] | np.ndarray) -> None:
        column = np.asarray(values, dtype=np.float64)
        self.order = np.argsort(column, kind="stable")
        distinct, self.group = np.unique(column, return_inverse=True)
        self.starts = np.searchsorted(column[self.order], distinct)

    def __len__(self) -> int:
        return len(self.order)

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return the rank of each row in each resample.

        Both `counts` and the result have the shape (resamples, rows).
        """
        sizes = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        return (np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, self.group]


def _spearman(counts: np.ndarray, first: _MidRanks, second: _MidRanks) -> np.ndarray:
    """Return Spearman's correlation per resample; NaN if a side is constant."""
    middle = (len(first) + 1) / 2
    x, y = first(counts) - middle, second(counts) - middle
    weighted = counts * x
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.einsum("br,br->b", weighted, y) / np.sqrt(
            np.einsum("br,br->b", weighted, x) * np.einsum("br,br->b", counts * y, y)
        )


def _resamples(rows: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks of resamples as counts of each row.

    A block has the shape (resamples, rows).
    """
    generator = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // rows)
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = generator.integers(rows, size=(size, rows)) + rows * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)
