"""Agreement of a table's shape with the paper's: order of the rows, the best row, the sign of each ablation.

Orders and signs are defined at every scale, where absolute numbers are not comparable. Reported values are
plain mappings row -> printed text or number; ours are row -> one value per seed, all rows in one order of
seeds (None where missing). A row with a single value has no seeds of its own (a baseline): it stands beside
every seed of the others. Rows that only one of the two mappings names take no part.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from replicse.study.results.statistics import LEVEL, mean_and_spread, t_quantile
from replicse.study.results.verdict import printed_number

Reported = Mapping[str, str | float | None]
Ours = Mapping[str, Sequence[float | None]]
EXACT_ROWS = 7


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b of our row means with the reported numbers, its interval and a two-sided p-value.

    `over` says what was redrawn for the interval: "seeds" (ours alone is uncertain) or "rows" (the table is a
    sample of rows). `low` and `high` are None where nothing can be redrawn.
    """

    tau: float
    low: float | None
    high: float | None
    p: float
    n_rows: int
    over: str


@dataclass(frozen=True)
class BestRow:
    """The best row in print and here; `probability` that it stays best when the seeds are redrawn."""

    reported: tuple[str, ...]
    ours: tuple[str, ...]
    kept: bool
    probability: float | None


@dataclass(frozen=True)
class SignAgreement:
    """One ablation against its baseline row: the reported difference and ours, paired over seeds.

    `agrees` is None where a difference is zero and so has no sign. `low` and `high` bound our mean difference
    (Student's t over the paired seeds); `resolved` says that they exclude zero; `seeds_agreeing` is the share
    of seeds whose own difference has the reported sign.
    """

    row: str
    baseline: str
    reported: float
    ours: float
    low: float | None
    high: float | None
    n_seeds: int
    agrees: bool | None
    resolved: bool
    seeds_agreeing: float | None


@dataclass(frozen=True)
class TableAgreement:
    """What one column of a table keeps of the paper's shape; None where too few rows have both numbers."""

    rank: RankAgreement | None
    best: BestRow | None
    signs: tuple[SignAgreement, ...]


def table_agreement(
    reported: Reported, ours: Ours, *, baseline: str | None = None, better: str = "higher", seed: int = 0
) -> TableAgreement:
    """Return every agreement of one column; signs only where a baseline row is named."""
    return TableAgreement(
        rank=rank_agreement(reported, ours, seed=seed),
        best=best_row(reported, ours, better=better, seed=seed),
        signs=sign_agreements(reported, ours, baseline) if baseline else (),
    )


def rank_agreement(
    reported: Reported,
    ours: Ours,
    *,
    over: str = "seeds",
    samples: int = 2000,
    level: float = LEVEL,
    seed: int = 0,
) -> RankAgreement | None:
    """Return Kendall's tau-b over the rows with both numbers; None below two such rows or where all are tied.

    The p-value is that of a random order of our rows: every permutation up to seven rows, 10,000 random ones
    beyond.
    """
    if over not in ("seeds", "rows"):
        raise ValueError(f'over is "{over}"; expected "seeds" or "rows"')
    printed = {row: number for row, number in _printed(reported, ours).items() if _present(ours[row])}
    if len(printed) < 2:
        return None
    values = [_present(ours[row]) for row in printed]
    target = np.array(list(printed.values()))
    means = _means(values)
    tau = float(kendall_tau(means, target))
    if math.isnan(tau):
        return None
    generator = np.random.default_rng(seed)
    if over == "seeds":
        redrawn = _redrawn_means(values, samples, generator)
        draws = None if redrawn is None else kendall_tau(redrawn, target)
    else:
        rows = generator.integers(len(target), size=(samples, len(target)))
        draws = kendall_tau(means[rows], target[rows])
    low = high = None
    if draws is not None and not np.isnan(draws).all():
        low, high = np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return RankAgreement(tau, low, high, _permutation_p(means, target, tau, generator), len(target), over)


def best_row(
    reported: Reported, ours: Ours, *, better: str = "higher", samples: int = 2000, seed: int = 0
) -> BestRow | None:
    """Return whether the paper's best row is ours too; None below two rows or while one of them has no value.

    Ties in print count as kept when any of the tied rows is best here. The probability redraws the seeds of
    each row; it is None where no row has two.
    """
    if better not in ("higher", "lower"):
        raise ValueError(f'better is "{better}"; expected "higher" or "lower"')
    printed = _printed(reported, ours)
    values = [_present(ours[row]) for row in printed]
    if len(printed) < 2 or not all(values):
        return None
    sign = 1 if better == "higher" else -1
    target, means = sign * np.array(list(printed.values())), sign * _means(values)
    winners = target == target.max()
    names = np.array(list(printed))
    redrawn = _redrawn_means(values, samples, np.random.default_rng(seed))
    probability = None
    if redrawn is not None:
        redrawn = sign * redrawn
        probability = float((redrawn[:, winners].max(axis=1) == redrawn.max(axis=1)).mean())
    return BestRow(
        reported=tuple(names[winners].tolist()),
        ours=tuple(names[means == means.max()].tolist()),
        kept=bool(means[winners].max() == means.max()),
        probability=probability,
    )


def sign_agreements(
    reported: Reported, ours: Ours, baseline: str, *, level: float = LEVEL
) -> tuple[SignAgreement, ...]:
    """Return, for every other row with both numbers, whether it moves from the baseline as in the paper."""
    printed = _printed(reported, ours)
    if baseline not in printed:
        return ()
    result = []
    for row in printed:
        differences = _paired_differences(ours[row], ours[baseline])
        if row != baseline and differences:
            wanted = _difference(printed[row], printed[baseline])
            result.append(_sign_agreement(row, baseline, wanted, differences, level))
    return tuple(result)


def kendall_tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b along the last axis, the others broadcast; NaN where a side is constant."""
    left, right = np.triu_indices(np.shape(first)[-1], k=1)
    x = np.sign(first[..., left] - first[..., right])
    y = np.sign(second[..., left] - second[..., right])
    with np.errstate(invalid="ignore", divide="ignore"):
        # One root of the product, so that two untied orders that agree give 1 exactly.
        return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


def _printed(reported: Reported, ours: Ours) -> dict[str, float]:
    """Return the printed numbers of the rows that ours names too, in the paper's order."""
    printed = {}
    for row, value in reported.items():
        if isinstance(value, str):
            number = printed_number(value)
            value = number.value if number else None
        if value is not None and row in ours:
            printed[row] = float(value)
    return printed


def _present(values: Sequence[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _means(values: Sequence[Sequence[float]]) -> np.ndarray:
    return np.array([mean_and_spread(row)[0] for row in values])


def _redrawn_means(
    values: Sequence[Sequence[float]], samples: int, generator: np.random.Generator
) -> np.ndarray | None:
    """Return (samples, rows) means of redrawn seeds, each row on its own; None where no row has two seeds."""
    if all(len(row) < 2 for row in values):
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


def _paired_differences(row: Sequence[float | None], baseline: Sequence[float | None]) -> list[float]:
    """Return row minus baseline per seed; a lone value stands beside every seed of the other."""
    count = max(len(row), len(baseline))
    if len(row) != len(baseline) and min(len(row), len(baseline)) != 1:
        raise ValueError(f"rows of {len(row)} and {len(baseline)} seeds cannot be paired")
    pairs = zip(_stretched(row, count), _stretched(baseline, count), strict=True)
    return [
        float(one) - float(other)
        for one, other in pairs
        if one is not None and other is not None and math.isfinite(one) and math.isfinite(other)
    ]


def _stretched(values: Sequence[float | None], count: int) -> Sequence[float | None]:
    return list(values) * count if len(values) == 1 else values


def _difference(first: float, second: float) -> float:
    """Return the difference of two printed numbers without binary noise: 82.5 - 82.2 is 0.3."""
    return round(first - second, 10)


def _sign_agreement(
    row: str, baseline: str, reported: float, differences: Sequence[float], level: float
) -> SignAgreement:
    mean, spread = mean_and_spread(differences)
    low = high = None
    if spread is not None:
        half = t_quantile(len(differences) - 1, level) * spread / math.sqrt(len(differences))
        low, high = mean - half, mean + half
    signed = reported != 0
    return SignAgreement(
        row=row,
        baseline=baseline,
        reported=reported,
        ours=mean,
        low=low,
        high=high,
        n_seeds=len(differences),
        agrees=(mean > 0) == (reported > 0) if signed and mean != 0 else None,
        resolved=low is not None and (low > 0 or high < 0),
        seeds_agreeing=sum(one * reported > 0 for one in differences) / len(differences) if signed else None,
    )
