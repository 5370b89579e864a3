"""Verdicts that may be looked at after every seed: a confidence sequence for the gap between our seeds and print.

For normal seeds with mean m and deviation s and a printed number y, the gap is d = (m - y) / s. Its sequence is that of
mixtures (Robbins 1970): all d whose likelihood is at least a share of the one averaged over a prior. With s unknown it
is the likelihood of the seeds' ratios, which s does not enter (Lai 1976; Wang and Ramdas 2024, "Anytime-valid t-tests
and confidence sequences for Gaussian means with unknown variance"; invariance: Perez-Ortiz et al. 2024). By Ville's
inequality the true gap is ever left out with no more than the given probability, however often one looks.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal

from replicse.registry.levels import LEVEL
from replicse.study.paper.printed import Reported
from replicse.study.paper.tables import Reducer
from replicse.study.results.statistics import ORDERED, mean_and_spread

Settled = Literal["", "within seed spread", "higher", "lower"]
# Of the error that a verdict may have, the part that is spent on looking; the rest is that of one more draw.
LOOKING = 0.2
# Scale of the prior over gaps, in standard deviations of the seeds: Cauchy's, since gaps of ten and more do occur.
PRIOR, FARTHEST, STEPS = 1.0, 40.0, 400
FIRST_LOOK = 2


def gap_sequence(
    values: Sequence[float], target: float, *, error: float, spread: float | None = None
) -> tuple[float, float] | None:
    """Return bounds of (mean - target) / sd that hold at all numbers of seeds together with probability 1 - error.

    `spread` is a standard deviation known beforehand. None where nothing can be said yet: one seed without it, or
    seeds that do not differ.
    """
    import numpy as np

    gaps = np.linspace(-FARTHEST, FARTHEST, 2 * STEPS + 1)
    if spread:
        centre = (mean_and_spread(values)[0] - target) / spread
        logs = -len(values) * (gaps - centre) ** 2 / 2
    elif len(values) < FIRST_LOOK or not mean_and_spread(values)[1]:
        return None
    else:
        logs = _log_likelihood(np.array(values) - target, gaps)
    prior = 1 / (1 + (gaps / PRIOR) ** 2)
    average = _log_mean(logs, prior)
    (kept,) = np.nonzero(logs >= average + math.log(error))
    # A step further on both sides: the bounds are between points of the grid.
    return float(gaps[max(0, kept[0] - 1)]), float(gaps[min(2 * STEPS, kept[-1] + 1)])


def _log_likelihood(offsets: "np.ndarray", gaps: "np.ndarray") -> "np.ndarray":  # type: ignore[name-defined]  # noqa: F821
    """Return the log likelihood of the ratios of offsets by gap, up to a constant: integrated over 1/sd.

    It is exp(-n d^2 / 2) times the integral of v^(n-1) exp(-v^2 / 2 + d r v) over v > 0, r = sum x / sqrt(sum x^2).
    """
    import numpy as np

    count = len(offsets)
    slope = gaps * offsets.sum() / math.sqrt(float((offsets**2).sum()))
    # The integrand has one peak, of a width below 1; it is taken on six widths around it.
    peak = (slope + np.sqrt(slope**2 + 4 * (count - 1))) / 2
    steps = np.linspace(-6, 6, 49)
    places = np.maximum(peak[:, None] + steps, 1e-12)
    logs = (count - 1) * np.log(places) - places**2 / 2 + slope[:, None] * places
    logs = np.where(peak[:, None] + steps > 0, logs, -np.inf)
    most = logs.max(axis=1)
    return -count * gaps**2 / 2 + most + np.log(np.exp(logs - most[:, None]).sum(axis=1))


def _log_mean(logs: "np.ndarray", weights: "np.ndarray") -> float:  # type: ignore[name-defined]  # noqa: F821
    import numpy as np

    most = float(logs.max())
    return most + math.log(float((np.exp(logs - most) * weights).sum() / weights.sum()))


@cache
def allowed_gap(statistic: str, count: int, share: float, error: float) -> tuple[float, float]:
    """Return the bounds of (mean - printed) / sd between which a printed number is one that our seeds would give.

    It is the mean of `count` draws, or their order statistic at `share` (0 the least, 1 the largest).
    """
    from scipy.special import betaincinv, ndtri

    if statistic in ("single", "mean"):
        half = float(ndtri(1 - error / 2)) / math.sqrt(count if statistic == "mean" else 1)
        return -half, half
    place = 1 + share * (count - 1)
    low, high = (float(ndtri(betaincinv(place, count + 1 - place, p))) for p in (error / 2, 1 - error / 2))
    return -high, -low


def settled(
    values: Sequence[float],
    reported: Reported,
    *,
    spread: float | None = None,
    reducer: Reducer | None = None,
    level: float = LEVEL,
) -> Settled:
    """Return the verdict that more seeds would not change, blank where it is open.

    It is what an unlimited number of seeds would say of the printed number, its rounding included. Of papers whose
    number is one more draw of ours, at most 1 - level are ever called higher or lower, at whatever looks.
    A printed standard deviation, and a statistic of ours that the paper does not count the runs of, stay open.
    """
    statistic, number = reported.statistic, reported.number
    counted = statistic != "single" or reducer is None or reducer.statistic == "mean"
    if number is None or statistic == "sd" or not counted:
        return ""
    share = ORDERED.get(statistic, reported.q or 0.0) / 100
    lowest, highest = allowed_gap(statistic, reported.seeds or 1, share, (1 - level) * (1 - LOOKING))
    error = (1 - level) * LOOKING / 2
    # Print is somewhere in half a digit on both sides: its lower end decides above, its upper end below.
    ends = (number.value - number.half_digit, number.value + number.half_digit)
    bounds = [gap_sequence(values, end, error=error, spread=spread) for end in ends]
    if None in bounds:
        return ""
    (low_of_lower, high_of_lower), (low_of_upper, high_of_upper) = bounds
    if low_of_upper > highest:
        return "higher"
    if high_of_lower < lowest:
        return "lower"
    return "within seed spread" if low_of_lower >= lowest and high_of_upper <= highest else ""


def settled_sign(differences: Sequence[float], *, level: float = LEVEL) -> int:
    """Return the sign of the mean of paired differences once it is settled at all looks together, 0 while it is open.

    Differences that are all alike, and not zero, settle it from the third on.
    """
    mean, spread = mean_and_spread(differences)
    if spread == 0 and len(differences) > FIRST_LOOK:
        return (mean > 0) - (mean < 0)
    bounds = gap_sequence(differences, 0.0, error=1 - level)
    return 0 if bounds is None else (bounds[0] > 0) - (bounds[1] < 0)
