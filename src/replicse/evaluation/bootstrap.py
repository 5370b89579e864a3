"""Bootstrap intervals of rank correlations over pairs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from replicse.registry.levels import LEVEL

CELLS_AT_ONCE = 1 << 20
MOST_ROWS = (
    100_000  # a thousand resamples of two million pairs take longer than all else that is computed from them
)


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

    Of more than `MOST_ROWS` pairs a random part is resampled, and its interval is scaled as standard errors are: by
    the root of the share of that part.

    Returns:
        None if one side is constant: a collapsed encoder has no rank correlation.
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
        return _scaled(part, value, math.sqrt(MOST_ROWS / rows)) if part else None
    draws = [_spearman(counts, first, second) for counts in _resamples(rows, samples, seed)]
    low, high = np.nanquantile(np.concatenate(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _scaled(part: Estimate, value: float, factor: float) -> Estimate:
    """Return the interval of a part, narrower by a factor and moved to the value of all."""
    low = value + factor * (part.low - part.value)
    high = value + factor * (part.high - part.value)
    return Estimate(value, max(-1.0, low), min(1.0, high))


class _MidRanks:
    """Mean ranks of the rows of a resample, given as counts per row: one sort serves every resample."""

    def __init__(self, values: Sequence[float] | np.ndarray) -> None:
        column = np.asarray(values, dtype=np.float64)
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


def _resamples(rows: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks of (resamples, rows): how often each row is drawn in a bootstrap resample."""
    generator = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // rows)
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = generator.integers(rows, size=(size, rows)) + rows * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)
