"""Adjudication: which difference of protocol explains a gap between two papers, or between a paper and its text.

For every cell of an adjudicated item: both printed numbers, ours as the text describes it, ours under each
variant and under all of the released code, and the share of the printed gap that each explains.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from replicse.compile.study import Study
from replicse.judge.judgements import Explained
from replicse.judge.readings import numbers, runs_read
from replicse.judge.statistics import (
    mean_and_spread,
    paired_difference,
    spread_of,
    t_quantile,
)
from replicse.judge.table import CellResult, ItemResult
from replicse.judge.values import finite_numbers
from replicse.spec.cell_id import CellId
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import Paper, printed_in
from replicse.spec.printed import Reported
from replicse.spec.protocols import AS_RUN

SAME_RUN = "same run"
# The share of a gap beyond which most of it is explained.
MOST = 0.5


def adjudicated(plan: Study) -> list[str]:
    """Return the items of the study whose variants are run, in order."""
    return [
        name
        for name, cells in plan.cells.items()
        if {cell.protocol for cell in cells} & _variants(plan.papers[plan.items[name].paper])
    ]


def adjudicate(papers: Mapping[str, Paper], result: ItemResult) -> Iterator[Explained]:
    """Yield every number of an item under every variant that may explain it; none where no variant is run."""
    pairs, names = counterparts(papers), _variants(papers[result.paper])
    numeric = {
        (column.id, column.metric)
        for column in result.columns
        if column.kind in ("score", "derived") and not column.chosen
    }
    variants = defaultdict(list)
    for cell in result.cells:
        if cell.protocol in names:
            variants[result.id_of(cell).described].append(cell)
    for cell_id, cell in result.described.items():
        if (cell.column, cell.metric) in numeric:
            counterpart = pairs.get(cell_id)
            printed = printed_in(papers, counterpart) if counterpart else None
            for variant in variants[cell_id]:
                yield explained(result, cell, variant, counterpart if printed else None, printed)


def explained(
    result: ItemResult,
    cell: CellResult,
    variant: CellResult,
    counterpart: CellId | None,
    printed: Reported | None,
) -> Explained:
    """Return what one variant does to one cell; `printed` is what is in its counterpart."""
    base, changed = numbers(cell), numbers(variant)
    ours = _mean(base)
    gap = _gap(cell.reported, printed, ours if result.comparable else None)
    noise = gap_noise(cell, printed)
    effect = paired_difference(changed, base)
    bounds = (effect.mean, effect.low, effect.high) if effect else (None, None, None)
    same = bool(runs_read(cell)) and runs_read(cell) == runs_read(variant)
    whole = gap if gap is not None and noise is not None and abs(gap) > noise and not same else None
    share, *ends = (bound / whole if whole and bound is not None else None for bound in bounds)
    if cell.seedless and variant.seedless:
        # Nothing was drawn: what one encoder gave is exact.
        ends = [share, share]
    low, high = sorted(end for end in ends if end is not None) or (None, None)
    return Explained(
        item=result.item,
        row=cell.row,
        column=cell.column,
        metric=cell.metric,
        other=str(counterpart or ""),
        reported_other=printed.value if printed else "",
        reported=cell.reported.value if cell.reported else "",
        gap=gap,
        noise=noise,
        described=ours,
        protocol=variant.protocol,
        ours=_mean(changed),
        effect=bounds[0],
        low=bounds[1],
        high=bounds[2],
        by_seed=effect.by_seed if effect else (),
        share=share,
        share_low=low,
        share_high=high,
        outcome="" if gap is None or effect is None or same else outcome(low, high),
        n_seeds=effect.n if effect else 0,
        note=SAME_RUN if same else "",
    )


def outcome(low: float | None, high: float | None) -> str:
    """Return whether a difference of protocol explains a gap, by the 95% interval of its share of the gap.

    *explains*: more than half is certain, and all of it (1) or more is possible. *in part*: some is certain, above 0.
    *no*: less than half is certain, and none, or the opposite, is possible. *undetermined*: anything else, as where
    no interval or no share is given.
    """
    if low is None or high is None:
        return "undetermined"
    if low > MOST and high >= 1:
        return "explains"
    if low > 0:
        return "in part"
    return "no" if high < MOST else "undetermined"


def gap_noise(cell: CellResult, printed: Reported | None) -> float | None:
    """Return how large the gap of a cell may be by seeds and rounding alone (95%); None where that is unknown.

    A printed number is one run, or the mean of as many as it says; where no other paper prints one, the other side is
    our mean. Its spread is the one printed with it, else that of ours as described; no seed, no spread.
    """
    ours = finite_numbers(numbers(cell))
    sd = 0.0 if cell.seedless else spread_of(ours)
    sides = [side for side in (cell.reported, printed) if side]
    draws = [(sd if side.sd is None else side.sd, side.statistic == "mean" and side.seeds) for side in sides]
    draws += [] if printed else [(sd, len(ours))]
    known = [(spread, count) for spread, count in draws if spread is not None]
    if len(known) < len(draws) or any(side.statistic == "sd" for side in sides):
        return None
    quantile = t_quantile(len(ours) - 1 if len(ours) > 1 else math.inf)
    noise = quantile * math.sqrt(sum(spread**2 / (count or 1) for spread, count in known))
    return noise + sum(side.number.half_digit for side in sides if side.number)


def _variants(paper: Paper) -> set[str]:
    """Return the protocols of a paper; a released checkpoint of a row is none."""
    return {AS_RUN, *(protocol.id for protocol in paper.protocols)}


def _gap(reported: Reported | None, other: Reported | None, ours: float | None) -> float | None:
    """Return the printed gap without binary noise; None where it is not printed or within its rounding."""
    first, second = reported.number if reported else None, other.number if other else None
    other_value = second.value if second else ours
    if first is None or other_value is None:
        return None
    gap = round(first.value - other_value, 10)
    return gap if abs(gap) > first.half_digit + (second.half_digit if second else 0) else None


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return mean_and_spread(there)[0] if values and len(there) == len(values) else None
