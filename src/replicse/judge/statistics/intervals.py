"""Intervals and tests over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from replicse.judge.report.judgements import Paired
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.spec.printed import Spread

# A published standard deviation is rejected if a variance ratio like ours has a probability below 1%.
REFUTING = 0.99
# Probabilities below the lower and the upper bound of an interval.
BOUNDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
ORDERED = {"min": 0.0, "median": 50.0, "max": 100.0}


def mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Compute the mean and the sample standard deviation (None for one value).

    `math.fsum` makes both independent of the order of the values.

    Args:
        values: at least one number.
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))


def spread_of(values: Sequence[float]) -> float | None:
    """Compute the sample standard deviation; None for fewer than three values.

    No interval should be computed from fewer values.
    """
    return mean_and_spread(values)[1] if len(values) >= FEWEST_SEEDS else None


def t_below(x: float, degrees: float) -> float:
    """Compute the probability that Student's t is below a value.

    Args:
        x: the value.
        degrees: degrees of freedom; infinity for a normal distribution.
    """
    from scipy.special import stdtr

    return float(stdtr(degrees, x))


@cache
def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """Compute the two-sided quantile of Student's t.

    Args:
        degrees: degrees of freedom; infinity for a normal distribution.
        level: the probability of the interval between minus and plus the quantile. Default: 0.95.
    """
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def pool_spreads(values: Sequence[float], published: Spread | None) -> Spread | None:
    """Pool the standard deviation of our values with a published one.

    Args:
        values: our values, a number per seed.
        published: the published standard deviation; None if there is none.

    Returns:
        The standard deviation to use for an interval. If nothing is published, or if the F test rejects the published
        standard deviation, only our values are used; None for fewer than three of them.
    """
    ours = spread_of(values)
    if published is None or spreads_disagree(values, published):
        return None if ours is None else Spread(ours, len(values) - 1)
    if math.isinf(published.degrees):
        return published
    observed, degrees = mean_and_spread(values)[1] or 0.0, len(values) - 1
    squares = degrees * observed**2 + published.degrees * published.sd**2
    return Spread(math.sqrt(squares / (degrees + published.degrees)), degrees + published.degrees)


def spreads_disagree(values: Sequence[float], published: Spread) -> bool:
    """Return whether our values reject a published standard deviation.

    This is a two-sided F test at the 1% level. A single value has no standard deviation, so the result is False.
    """
    from scipy.special import chdtr, fdtr

    observed = mean_and_spread(values)[1]
    if observed is None:
        return False
    degrees, ratio = len(values) - 1, (observed / published.sd) ** 2
    if math.isinf(published.degrees):
        below = float(chdtr(degrees, degrees * ratio))
    else:
        below = float(fdtr(degrees, published.degrees, ratio))
    return 2 * min(below, 1 - below) < 1 - REFUTING


def prediction_interval(
    values: Sequence[float], *, spread: Spread | None = None, of: int = 1
) -> tuple[float, float] | None:
    """Compute the interval for the mean of more runs.

    The interval is mean -+ t * sd * sqrt(1/n + 1/of). A confidence interval of the mean would be too narrow, because a
    paper prints a single run and not the mean of our runs. The default interval is for one further run.

    Args:
        values: our values, a number per seed.
        spread: the standard deviation from `pool_spreads`. Default: the standard deviation of the values.
        of: the number of further runs that are averaged. Default: 1.

    Returns:
        The lower and upper bound at 95%; None if the standard deviation is unknown (fewer than three values).
    """
    mean, scale = mean_and_spread(values)[0], spread or pool_spreads(values, None)
    if scale is None:
        return None
    half = t_quantile(scale.degrees) * scale.sd * math.sqrt(1 / of + 1 / len(values))
    return mean - half, mean + half


def order_statistic_interval(
    values: Sequence[float], count: int, share: float, *, spread: Spread | None = None
) -> tuple[float, float] | None:
    """Compute the interval for a quantile of more runs.

    Runs are normally distributed. The result is integrated over the uncertainty of our mean and standard deviation. By
    default, the standard deviation is estimated from our runs only.

    Args:
        values: our values, a number per seed.
        count: the number of further runs.
        share: the quantile, 0 for the minimum and 1 for the maximum.
        spread: the standard deviation from `pool_spreads`. Default: the standard deviation of the values.

    Returns:
        The lower and upper bound at 95%; None if the standard deviation is unknown (fewer than three values).
    """
    mean, scale = mean_and_spread(values)[0], spread or pool_spreads(values, None)
    if scale is None:
        return None
    low, high = (_order_quantile(p, len(values), count, share, scale.degrees) for p in BOUNDS)
    return mean + scale.sd * low, mean + scale.sd * high


@cache
def _order_quantile(p: float, size: int, count: int, share: float, degrees: float) -> float:
    """Compute the p-quantile of an order statistic of `count` normal runs.

    The result is relative to the mean of `size` other runs, in units of their standard deviation.
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
    """Compute the probability that a quantile of more runs is below a bound.

    The bound is the mean of our runs plus x standard deviations. The probability that the k-th of m runs is below the
    bound is the beta distribution at the probability that a single run is below it.

    Args:
        x: the bound, in standard deviations from the mean of our runs.
        size: the number of our runs.
        count: the number of further runs.
        share: the quantile, 0 for the minimum and 1 for the maximum.
        degrees: degrees of freedom of the estimated standard deviation.
        shift: the true mean of the further runs minus the true mean of our runs, in standard deviations. Default: 0.
    """
    from scipy.special import betainc, ndtr

    place = 1 + share * (count - 1)
    offsets, weights = _normal_nodes()
    places = ndtr(offsets[:, None] / math.sqrt(size) + x * _spreads(degrees) - shift)
    return float(weights @ betainc(place, count + 1 - place, places).mean(axis=1)) / math.sqrt(2 * math.pi)


@cache
def _spreads(degrees: float) -> Any:
    """Compute equally likely ratios of a standard deviation to its estimate."""
    import numpy as np
    from scipy.special import chdtri

    middles = (np.arange(200) + 0.5) / 200
    return np.ones(1) if math.isinf(degrees) else np.sqrt(chdtri(degrees, middles) / degrees)


@cache
def _normal_nodes() -> tuple[Any, Any]:
    """Compute nodes and weights of Gauss-Hermite quadrature.

    They are cached because computing them takes most of the time of an integral.
    """
    from numpy.polynomial.hermite_e import hermegauss

    return hermegauss(24)


def spread_interval(values: Sequence[float], count: int) -> tuple[float, float] | None:
    """Compute the interval for the standard deviation of more runs.

    The ratio of both variances has an F distribution.

    Args:
        values: our values, a number per seed.
        count: the number of further runs.

    Returns:
        The lower and upper bound at 95%; None for fewer than three values, or if `count` is 1.
    """
    from scipy.special import fdtri

    sd = spread_of(values)
    if count < 2 or sd is None:
        return None
    low, high = (math.sqrt(float(fdtri(count - 1, len(values) - 1, p))) for p in BOUNDS)
    return sd * low, sd * high


# Paired differences: both sides have the same seeds


def p_of_mean(ours: Paired, degrees: int) -> float:
    """Compute the two-sided p-value of a mean difference.

    The standard error is computed from the interval.

    Args:
        ours: the differences with their interval.
        degrees: degrees of freedom of the interval.

    Raises:
        ValueError: if the differences have no interval.
    """
    if ours.low is None or ours.high is None:
        raise ValueError("cannot compute the p-value of a difference of too few seeds")
    error = (ours.high - ours.low) / 2 / t_quantile(degrees)
    if error == 0:
        return float(ours.mean == 0)
    return 2 * t_below(-abs(ours.mean) / error, degrees)


def pair_by_seed(columns: Sequence[Sequence[Any]], location: object = "cells") -> list[Sequence[Any]]:
    """Extend columns to the same length, so that values can be paired.

    A column with a single value (an encoder without seeds) is repeated for every seed of the other columns.

    Args:
        columns: list of columns; each column is a list of values by seed.
        location: the prefix of error messages. Default: "cells".

    Raises:
        ValueError: if other lengths differ, because then the seeds are not the same.
    """
    lengths = {len(column) for column in columns}
    count = max(lengths, default=0)
    if lengths - {1, count}:
        raise ValueError(f"{location}: {sorted(lengths)} seeds cannot be paired")
    extended: list[Sequence[Any]] = []
    for column in columns:
        is_lone = len(column) == 1 < count
        extended.append(list(column) * count if is_lone else column)
    return extended


def paired_difference(first: Sequence[float | None], second: Sequence[float | None]) -> Paired | None:
    """Compute first - second, paired by seed, with Student's t interval.

    Both sides have the same seed, data order and initial weights, so the effect of the seed on both cancels.

    Args:
        first: list of a number per seed, or None for a missing value.
        second: list of the numbers to subtract, in the same order of seeds.

    Returns:
        The differences with their mean and 95% interval; None if no seed has both numbers.
    """
    differences = []
    for one, other in zip(*pair_by_seed([first, second]), strict=True):
        if one is not None and other is not None and math.isfinite(one) and math.isfinite(other):
            differences.append(float(one - other))
    return interval_of_mean(tuple(differences)) if differences else None


def interval_of_mean(by_seed: tuple[float, ...]) -> Paired:
    """Compute the mean over seeds with Student's t interval.

    Args:
        by_seed: a number per seed; fewer than three give no interval.
    """
    mean, spread = mean_and_spread(by_seed)[0], spread_of(by_seed)
    if spread is None:
        return Paired(mean, None, None, by_seed)
    half = t_quantile(len(by_seed) - 1) * spread / math.sqrt(len(by_seed))
    return Paired(mean, mean - half, mean + half, by_seed)


# Crossed designs: how much of the spread each factor explains


@dataclass(frozen=True)
class Components:
    """Standard deviations between and within the rows of a crossed design."""

    between: float
    within: float


def mean_of_crossed(table: Sequence[Sequence[float]]) -> Paired:
    """Compute the mean of a crossed design with an interval.

    The error is the largest of three mean squares: rows, columns and residuals.

    Args:
        table: list of rows with a value for each column, (rows, columns), at least two of each.
    """
    import numpy as np

    values = np.array(table, dtype=np.float64)
    rows, columns = values.shape
    of_rows, of_columns, mean = values.mean(axis=1), values.mean(axis=0), float(values.mean())
    rest = ((values - of_rows[:, None] - of_columns + mean) ** 2).sum() / ((rows - 1) * (columns - 1))
    error = max(columns * of_rows.var(ddof=1), rows * of_columns.var(ddof=1), rest)
    half = t_quantile(min(rows, columns) - 1) * math.sqrt(error / values.size)
    return Paired(mean, mean - half, mean + half, tuple(values.ravel().tolist()))


def variance_components(table: Sequence[Sequence[float]]) -> Components | None:
    """Compute the variance components of a crossed design.

    This is an analysis of variance. `within` contains the effect of the columns and the interaction. `between` is
    computed from the mean square of the rows minus the mean square of the interaction; a negative result becomes 0.

    Args:
        table: list of rows with a value for each column, (rows, columns).

    Returns:
        The components; None for fewer than two rows or columns, or if a value is missing.
    """
    import numpy as np

    values = np.array(table, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2 or not np.isfinite(values).all():
        return None
    rows, columns = values.shape
    means = values.mean(axis=1, keepdims=True)
    residuals = values - means - values.mean(axis=0) + values.mean()
    interaction = float((residuals**2).sum()) / ((rows - 1) * (columns - 1))
    within = float(((values - means) ** 2).sum()) / (rows * (columns - 1))
    between = max(0.0, float(means.var(ddof=1)) - interaction / columns)
    return Components(math.sqrt(between), math.sqrt(within))
