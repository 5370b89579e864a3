"""Intervals over seeds: one more draw of a run, differences that two sides share, a crossed design."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from replicse.judge.judgements import Paired
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.spec.printed import Spread

# A published spread is refuted by a variance ratio that occurs once in a hundred times.
REFUTING = 0.99
# The shares of a distribution below an interval, and below its upper end.
BOUNDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
ORDERED = {"min": 0.0, "median": 50.0, "max": 100.0}


def mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the sample standard deviation (None for one value), in any order alike."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))


def spread_of(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation that an interval may rest on; None below three values."""
    return mean_and_spread(values)[1] if len(values) >= FEWEST_SEEDS else None


def t_below(x: float, degrees: float) -> float:
    """Return the probability that Student's t is below x; that of a normal variable for infinite degrees."""
    from scipy.special import stdtr

    return float(stdtr(degrees, x))


@cache
def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t, the normal one for infinite degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def pooled(values: Sequence[float], published: Spread | None) -> Spread | None:
    """Return the spread that an interval of some values rests on: their own one and a published one together.

    The variances are pooled by their degrees of freedom. Their own one alone (None below three values) is returned
    where nothing is published or the two disagree.
    """
    own = spread_of(values)
    if published is None or disagrees(values, published):
        return None if own is None else Spread(own, len(values) - 1)
    observed, degrees = mean_and_spread(values)[1] or 0.0, len(values) - 1
    if math.isinf(published.degrees):
        return published
    squares = degrees * observed**2 + published.degrees * published.sd**2
    return Spread(math.sqrt(squares / (degrees + published.degrees)), degrees + published.degrees)


def disagrees(values: Sequence[float], published: Spread) -> bool:
    """Return whether some values vary more or less than a published spread allows (two-sided F test at 1%).

    One value says nothing.
    """
    from scipy.special import chdtr, fdtr

    observed = mean_and_spread(values)[1]
    if observed is None:
        return False
    degrees, ratio = len(values) - 1, (observed / published.sd) ** 2
    known = math.isinf(published.degrees)
    below = float(chdtr(degrees, degrees * ratio) if known else fdtr(degrees, published.degrees, ratio))
    return 2 * min(below, 1 - below) < 1 - REFUTING


def prediction_interval(
    values: Sequence[float], *, spread: Spread | None = None, of: int = 1
) -> tuple[float, float] | None:
    """Return the interval that holds the mean of `of` more draws: mean -+ t * sd * sqrt(1/n + 1/of).

    With one more draw a confidence interval of the mean would be too narrow: a paper prints one run, not the mean of
    ours. Without a `spread` (that of `pooled`) it is the values' own; None below three of them.
    """
    mean, scale = mean_and_spread(values)[0], spread or pooled(values, None)
    if scale is None:
        return None
    half = t_quantile(scale.degrees) * scale.sd * math.sqrt(1 / of + 1 / len(values))
    return mean - half, mean + half


def order_statistic_interval(
    values: Sequence[float], count: int, share: float, *, spread: Spread | None = None
) -> tuple[float, float] | None:
    """Return the interval that holds a quantile (0 the least, 1 the largest) of `count` more draws.

    Draws are normal; where our mean and the standard deviation lie is averaged over. Without a `spread` it is the
    values' own; None below three of them.
    """
    mean, scale = mean_and_spread(values)[0], spread or pooled(values, None)
    if scale is None:
        return None
    low, high = (
        mean + scale.sd * _order_quantile(p, len(values), count, share, scale.degrees) for p in BOUNDS
    )
    return low, high


@cache
def _order_quantile(p: float, size: int, count: int, share: float, degrees: float) -> float:
    """Return the p-quantile of an order statistic of `count` normal runs.

    It is relative to the mean of `size` other runs, in units of their standard deviation.
    """
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return order_statistic_below(x, size, count, share, degrees) - p

    # Every order statistic is between the minimum and the maximum; a union bound over the runs encloses both.
    edge = t_quantile(degrees, 1 - min(p, 1 - p) / count) * math.sqrt(1 + 1 / size)
    return float(brentq(excess, -edge, edge))


def order_statistic_below(
    x: float, size: int, count: int, share: float, degrees: float, shift: float = 0.0
) -> float:
    """Return how probably a quantile of `count` normal draws lies below the mean of `size` others and x of an sd.

    The sd is an estimate with some degrees of freedom. The k-th of m draws lies below x with
    the probability of a beta distribution at the normal probability of x.
    `shift` is by how many standard deviations the mean of the `count` draws is above that of the others.
    """
    from scipy.special import betainc, ndtr

    place = 1 + share * (count - 1)
    offsets, weights = _normal_nodes()
    places = ndtr(offsets[:, None] / math.sqrt(size) + x * _spreads(degrees) - shift)
    return float(weights @ betainc(place, count + 1 - place, places).mean(axis=1)) / math.sqrt(2 * math.pi)


@cache
def _spreads(degrees: float) -> Any:
    """Return 200 equally likely ratios of a standard deviation to its estimate with some degrees of freedom."""
    import numpy as np
    from scipy.special import chdtri

    middles = (np.arange(200) + 0.5) / 200
    return np.ones(1) if math.isinf(degrees) else np.sqrt(chdtri(degrees, middles) / degrees)


@cache
def _normal_nodes() -> tuple[Any, Any]:
    """Return points and weights of an integral over a normal distribution; finding them takes most of its time."""
    from numpy.polynomial.hermite_e import hermegauss

    return hermegauss(24)


def spread_interval(values: Sequence[float], count: int) -> tuple[float, float] | None:
    """Return the interval that holds the standard deviation of `count` more draws (an F ratio to our variance).

    None below three values, and for a single draw.
    """
    from scipy.special import fdtri

    sd = spread_of(values)
    if count < 2 or sd is None:
        return None
    low, high = (sd * math.sqrt(float(fdtri(count - 1, len(values) - 1, p))) for p in BOUNDS)
    return low, high


# Differences over seeds that both sides share


def p_of_mean(ours: Paired, degrees: int) -> float:
    """Return the two-sided p-value of a mean difference with an interval, by Student's t."""
    if ours.low is None or ours.high is None:
        raise ValueError("a difference of too few seeds has no p-value")
    error = (ours.high - ours.low) / 2 / t_quantile(degrees)
    if error == 0:
        return float(ours.mean == 0)
    return 2 * t_below(-abs(ours.mean) / error, degrees)


def paired(columns: Sequence[Sequence[Any]], where: object = "cells") -> list[Sequence[Any]]:
    """Return columns of one length: a lone value (an encoder without seeds) is paired with every seed of the others.

    Raises ValueError for other unequal lengths: those seeds are not the same.
    """
    count = max(map(len, columns), default=0)
    if {len(column) for column in columns} - {1, count}:
        raise ValueError(f"{where}: {sorted({len(column) for column in columns})} seeds cannot be paired")
    return [list(column) * count if len(column) == 1 < count else column for column in columns]


def paired_difference(first: Sequence[float | None], second: Sequence[float | None]) -> Paired | None:
    """Return first - second, paired by seed, with Student's t interval; None where no seed has both.

    The two sides share seed, data order and initial weights, so what a seed does to both cancels.
    """
    differences = tuple(
        float(pair[0] - pair[1])
        for pair in zip(*paired([first, second]), strict=True)
        if None not in pair and all(map(math.isfinite, pair))
    )
    return interval_of_mean(differences) if differences else None


def interval_of_mean(by_seed: tuple[float, ...]) -> Paired:
    """Return the mean of one number a seed, with its t interval where there are enough seeds."""
    mean, spread = mean_and_spread(by_seed)[0], spread_of(by_seed)
    if spread is None:
        return Paired(mean, None, None, by_seed)
    half = t_quantile(len(by_seed) - 1) * spread / math.sqrt(len(by_seed))
    return Paired(mean, mean - half, mean + half, by_seed)


# A crossed design: where the spread comes from


@dataclass(frozen=True)
class Components:
    """Standard deviations: between the rows of a crossed design, and within a row."""

    between: float
    within: float


def mean_of_crossed(table: Sequence[Sequence[float]]) -> Paired:
    """Return the mean of a crossed design, (rows, columns), at least two of each, with its interval.

    The error is the largest of the mean squares of rows, of columns, and of what is left.
    """
    import numpy as np

    values = np.array(table, dtype=np.float64)
    rows, columns = values.shape
    of_rows, of_columns, mean = values.mean(axis=1), values.mean(axis=0), float(values.mean())
    rest = ((values - of_rows[:, None] - of_columns + mean) ** 2).sum() / ((rows - 1) * (columns - 1))
    error = max(columns * of_rows.var(ddof=1), rows * of_columns.var(ddof=1), rest)
    half = t_quantile(min(rows, columns) - 1) * math.sqrt(error / values.size)
    return Paired(mean, mean - half, mean + half, tuple(values.ravel().tolist()))


def components(table: Sequence[Sequence[float]]) -> Components | None:
    """Return the components of a crossed design, (rows, columns) with one value each, by analysis of variance.

    `within` is what a column draws again in a row, its own effect and the interaction; `between` is the mean square of
    the rows less that of the interaction, 0 where that is negative. None below two rows or columns, or where a value
    is missing.
    """
    import numpy as np

    values = np.array(table, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2 or not np.isfinite(values).all():
        return None
    rows, columns = values.shape
    means = values.mean(axis=1, keepdims=True)
    rest = values - means - values.mean(axis=0) + values.mean()
    interaction = float((rest**2).sum()) / ((rows - 1) * (columns - 1))
    within = float(((values - means) ** 2).sum()) / (rows * (columns - 1))
    return Components(
        math.sqrt(max(0.0, float(means.var(ddof=1)) - interaction / columns)), math.sqrt(within)
    )
