"""Adjudication: which difference of protocol explains a gap between two papers, or between a paper and its text.

For every cell of an adjudicated item: both printed numbers, ours as the text describes it, ours under each
variant and under all of the released code, and the share of the printed gap that each explains.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from replicse.study.judge.readings import numbers, runs_read
from replicse.study.paper.counterparts import CellKey, counterparts, printed_in
from replicse.study.paper.papers import Paper
from replicse.study.paper.printed import Reported
from replicse.study.paper.protocols import AS_DESCRIBED, AS_RUN
from replicse.study.plan.plan import Plan
from replicse.study.results.statistics import mean_and_spread, paired_difference
from replicse.study.results.table import CellResult, ItemResult

SAME_RUN = "same run"


@dataclass(frozen=True)
class Explained:
    """One cell under one variant.

    `gap` is the printed number less the other paper's; where no other paper prints one, the printed number
    less ours as described, and only at a scale whose numbers are comparable. `effect` is ours under the
    variant less ours as described, paired by seed, `low` and `high` its 95% interval (None with one seed);
    `share` is effect / gap with the bounds it inherits. `note` marks a variant that changes nothing at this scale.
    """

    item: str
    row: str
    column: str
    metric: str
    other: str
    reported_other: str
    reported: str
    gap: float | None
    described: float | None
    protocol: str
    ours: float | None
    effect: float | None
    low: float | None
    high: float | None
    share: float | None
    share_low: float | None
    share_high: float | None
    n_seeds: int
    note: str = ""


FIELDS = [entry.name for entry in fields(Explained)]


def adjudicated(plan: Plan) -> list[str]:
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
            variants[cell.key].append(cell)
    for cell in result.cells:
        if cell.protocol == AS_DESCRIBED and (cell.column, cell.metric) in numeric:
            counterpart = pairs.get((result.item, *cell.key))
            printed = printed_in(papers, counterpart) if counterpart else None
            for variant in variants[cell.key]:
                yield explained(result, cell, variant, counterpart if printed else None, printed)


def explained(
    result: ItemResult,
    cell: CellResult,
    variant: CellResult,
    counterpart: CellKey | None,
    printed: Reported | None,
) -> Explained:
    """Return what one variant does to one cell; `printed` is what stands in its counterpart."""
    base, changed = numbers(cell), numbers(variant)
    ours = _mean(base)
    gap = _gap(cell.reported, printed, ours if result.comparable else None)
    effect = paired_difference(changed, base)
    bounds = (effect.mean, effect.low, effect.high) if effect else (None, None, None)
    share, *ends = (None if bound is None or not gap else bound / gap for bound in bounds)
    share_low, share_high = sorted(ends) if None not in ends else (None, None)
    return Explained(
        item=result.item,
        row=cell.row,
        column=cell.column,
        metric=cell.metric,
        other="/".join(counterpart) if counterpart else "",
        reported_other=printed.value if printed else "",
        reported=cell.reported.value if cell.reported else "",
        gap=gap,
        described=ours,
        protocol=variant.protocol,
        ours=_mean(changed),
        effect=bounds[0],
        low=bounds[1],
        high=bounds[2],
        share=share,
        share_low=share_low,
        share_high=share_high,
        n_seeds=effect.n if effect else 0,
        note=SAME_RUN if runs_read(cell) and runs_read(cell) == runs_read(variant) else "",
    )


def _variants(paper: Paper) -> set[str]:
    """Return the protocols of a paper; a released checkpoint of a row is none."""
    return {AS_RUN, *(protocol.id for protocol in paper.protocols)}


def _gap(own: Reported | None, other: Reported | None, ours: float | None) -> float | None:
    """Return the printed gap without binary noise; None where it is not printed or within its rounding."""
    first, second = own and own.number, other and other.number
    if first is None or (second is None and ours is None):
        return None
    gap = round(first.value - (second.value if second else ours), 10)
    return gap if abs(gap) > first.half_digit + (second.half_digit if second else 0) else None


def _mean(values: Sequence[float | None]) -> float | None:
    return mean_and_spread(values)[0] if values and None not in values else None
