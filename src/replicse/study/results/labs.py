"""Labs apart from seeds: the random effects of one factor by restricted maximum likelihood.

A value is mean + lab + seed, labs and seeds normal. Their two variances are those of largest restricted likelihood
(Patterson and Thompson 1971; Pinheiro and Bates 2000, chapter 1), in closed form but for one ratio.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from replicse.registry.levels import FEWEST_SEEDS
from replicse.study.results.statistics import mean_and_spread, t_quantile
from replicse.study.results.table import SeedValue

# Ratios of the variances that are searched: beyond, labs would say all and seeds nothing.
RATIOS = (1e-6, 1e8)


@dataclass(frozen=True)
class Pooled:
    """Values of several labs as one: their mean, and the standard deviations between seeds and between labs.

    `half` is half the width of the 95% interval of the mean, by Student's t with a degree fewer than labs; None
    below three labs. `by_lab` holds the values of each lab.
    """

    mean: float
    half: float | None
    seeds: float
    labs: float
    by_lab: Mapping[str, tuple[float, ...]]

    def __str__(self) -> str:
        """Return labs, seeds, mean and deviations: `5 labs, 23 seeds: 75.13 ±0.42, seeds 0.84, labs 0.50`."""
        count = sum(map(len, self.by_lab.values()))
        half = "" if self.half is None else f" ±{self.half:.2f}"
        spreads = f"seeds {self.seeds:.2f}, labs {self.labs:.2f}"
        return f"{len(self.by_lab)} labs, {count} seeds: {self.mean:.2f}{half}, {spreads}"


def drawn(values: Iterable[SeedValue]) -> list[SeedValue]:
    """Return the draws among some values: a number that labs repeat to the last bit under one seed is one."""
    first: dict[tuple[int | None, float | str | None], SeedValue] = {}
    for each in values:
        first.setdefault((each.seed, each.value), each)
    return list(first.values())


def pooled_draws(values: Iterable[SeedValue]) -> Pooled | None:
    """Return the draws among some values as one; None where `pooled` gives none."""
    by_lab: dict[str, list[float]] = {}
    for each in drawn(values):
        if isinstance(each.value, float):
            by_lab.setdefault(each.lab, []).append(each.value)
    return pooled(by_lab)


def pooled(by_lab: Mapping[str, Sequence[float]]) -> Pooled | None:
    """Return the pooled values of labs; None below two labs, or where no lab has two seeds that differ."""
    groups = {lab: tuple(values) for lab, values in by_lab.items() if values}
    within = sum((value - mean_and_spread(values)[0]) ** 2 for values in groups.values() for value in values)
    if len(groups) < 2 or within <= 0:
        return None
    ratio = _best_ratio(list(groups.values()))
    weights = {lab: len(values) / (1 + ratio * len(values)) for lab, values in groups.items()}
    mean, variance = _fitted(list(groups.values()), ratio)
    error = math.sqrt(variance / sum(weights.values()))
    half = t_quantile(len(groups) - 1) * error if len(groups) >= FEWEST_SEEDS else None
    return Pooled(mean, half, math.sqrt(variance), math.sqrt(ratio * variance), groups)


def _fitted(groups: Sequence[Sequence[float]], ratio: float) -> tuple[float, float]:
    """Return the mean by generalised least squares and the variance of seeds, at a ratio of labs' to seeds'."""
    weights = [len(group) / (1 + ratio * len(group)) for group in groups]
    means = [mean_and_spread(group)[0] for group in groups]
    mean = math.fsum(weight * each for weight, each in zip(weights, means, strict=True)) / math.fsum(weights)
    squares = math.fsum(
        (value - own) ** 2 for group, own in zip(groups, means, strict=True) for value in group
    ) + math.fsum(weight * (own - mean) ** 2 for weight, own in zip(weights, means, strict=True))
    return mean, squares / (sum(map(len, groups)) - 1)


def restricted_log_likelihood(groups: Sequence[Sequence[float]], ratio: float) -> float:
    """Return the restricted log likelihood at a ratio of variances, that of seeds at its best."""
    count = sum(map(len, groups))
    _, variance = _fitted(groups, ratio)
    weights = math.fsum(len(group) / (1 + ratio * len(group)) for group in groups)
    determinant = math.fsum(math.log1p(ratio * len(group)) for group in groups)
    return (
        -(
            (count - 1) * (math.log(2 * math.pi * variance) + 1)
            + determinant
            + math.log(weights)
            - math.log(count)
        )
        / 2
        - math.log(count) / 2
    )


def _best_ratio(groups: Sequence[Sequence[float]]) -> float:
    """Return the ratio of largest restricted likelihood; 0 where labs differ no more than their seeds do."""
    import numpy as np
    from scipy.optimize import minimize_scalar

    grid = np.linspace(math.log(RATIOS[0]), math.log(RATIOS[1]), 65)
    logs = [restricted_log_likelihood(groups, math.exp(place)) for place in grid]
    best = max(range(len(grid)), key=logs.__getitem__)
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    found = minimize_scalar(
        lambda place: -restricted_log_likelihood(groups, math.exp(place)), bounds=(low, high), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    ratio = math.exp(float(found.x))
    at_zero = restricted_log_likelihood(groups, 0.0) >= restricted_log_likelihood(groups, ratio)
    return 0.0 if at_zero else ratio
