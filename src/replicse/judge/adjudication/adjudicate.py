"""Adjudication: which difference of protocol explains a printed gap.

A gap is between two papers, or between a paper's numbers and our runs of the text. For every cell of an adjudicated
item, the result contains both printed numbers, our number as the text describes it, our number under each variant and
under all of the released code, and the share of the printed gap explained by each variant.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from replicse.compile.study import Study
from replicse.judge.report.judgements import Explained, Paired
from replicse.judge.statistics.intervals import (
    mean_and_spread,
    paired_difference,
    spread_of,
    t_quantile,
)
from replicse.judge.values.cell_values import finite_numbers
from replicse.judge.values.readings import runs_read, seed_numbers
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.spec.cell_id import CellId
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import Paper, printed_in
from replicse.spec.printed import Reported
from replicse.spec.protocols import AS_RUN

SAME_RUN = "same run"
# A variant explains most of a gap if the share is above this.
MOST = 0.5


def items_with_variants(study: Study) -> list[str]:
    """Return the items of the study with variants that are run, in order."""
    items = []
    for name, cells in study.cells.items():
        variants = _variants(study.papers[study.items[name].paper])
        if not variants.isdisjoint(cell.protocol for cell in cells):
            items.append(name)
    return items


def adjudicate(papers: Mapping[str, Paper], result: ItemResult) -> Iterator[Explained]:
    """Yield the effect of each variant on each number of an item.

    Args:
        papers: all papers by key.
        result: the result of the item.
    """
    pairs, protocols = counterparts(papers), _variants(papers[result.paper])
    numeric = set()
    for column in result.columns:
        if column.kind in ("score", "derived") and not column.chosen:
            numeric.add((column.id, column.metric))
    variants = defaultdict(list)
    for cell in result.cells:
        if cell.protocol in protocols:
            variants[result.id_of(cell).described].append(cell)
    for cell_id, cell in result.described.items():
        if (cell.column, cell.metric) not in numeric:
            continue
        counterpart, printed = pairs.get(cell_id), None
        if counterpart is not None:
            printed = printed_in(papers, counterpart)
        if printed is None:
            counterpart = None
        for variant in variants[cell_id]:
            yield explain_gap(result, cell, variant, counterpart, printed)


def explain_gap(
    result: ItemResult,
    cell: CellResult,
    variant: CellResult,
    counterpart: CellId | None,
    printed: Reported | None,
) -> Explained:
    """Compute how much of the gap of a cell a variant explains.

    Args:
        result: the result of the item.
        cell: the cell under the protocol `as-described`.
        variant: the same cell under the variant.
        counterpart: the cell of another paper that repeats this cell or is repeated by it; None if there is none.
        printed: the number printed in `counterpart`; None if there is none.
    """
    base, changed = seed_numbers(cell), seed_numbers(variant)
    ours = _mean(base)
    gap = _printed_gap(cell.reported, printed, ours if result.comparable else None)
    noise = gap_noise(cell, printed)
    effect = paired_difference(changed, base)
    is_same = bool(runs_read(cell)) and runs_read(cell) == runs_read(variant)
    explained = ""
    share = share_low = share_high = None
    if effect is not None and gap is not None and not is_same:
        if noise is not None and abs(gap) > noise:
            # A number without seeds is exact.
            is_exact = cell.seedless and variant.seedless
            share, share_low, share_high = _share_of_gap(effect, gap, is_exact)
        explained = outcome(share_low, share_high)
    mean = low = high = None
    by_seed: tuple[float, ...] = ()
    if effect is not None:
        mean, low, high, by_seed = effect.mean, effect.low, effect.high, effect.by_seed
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
        effect=mean,
        low=low,
        high=high,
        by_seed=by_seed,
        share=share,
        share_low=share_low,
        share_high=share_high,
        outcome=explained,
        n_seeds=len(by_seed),
        note=SAME_RUN if is_same else "",
    )


def _share_of_gap(effect: Paired, gap: float, is_exact: bool) -> tuple[float, float | None, float | None]:
    """Compute the share of a gap that an effect explains, with bounds."""
    share = effect.mean / gap
    if is_exact:
        return share, share, share
    if effect.low is None or effect.high is None:
        return share, None, None
    low, high = sorted((effect.low / gap, effect.high / gap))
    return share, low, high


def outcome(low: float | None, high: float | None) -> str:
    """Decide whether a variant explains a gap.

    Args:
        low: the lower bound of the 95% interval of the share; None if it is unknown.
        high: the upper bound.

    Returns:
        `explains` if the share is above one half and may be 1; `in part` if it is above 0; `no` if it is below one half
        and may be 0 or negative; `undetermined` otherwise, and if there is no interval.
    """
    if low is None or high is None:
        return "undetermined"
    if low > MOST and high >= 1:
        return "explains"
    if low > 0:
        return "in part"
    if high < MOST:
        return "no"
    return "undetermined"


def gap_noise(cell: CellResult, printed: Reported | None) -> float | None:
    """Compute how large a gap can be from seeds and rounding alone (95%).

    A printed number is a single run, or the mean of as many runs as the paper says. Its standard deviation is printed
    with it, or computed from our runs as described. If no other paper prints the cell, the other side is our mean.

    Args:
        cell: the cell under the protocol `as-described`.
        printed: the number that another paper prints for the cell; None if there is none.

    Returns:
        The noise; None if a standard deviation is unknown.
    """
    ours = finite_numbers(seed_numbers(cell))
    sd = 0.0 if cell.seedless else spread_of(ours)
    rounding = 0.0
    spreads = []
    for side in filter(None, (cell.reported, printed)):
        if side.statistic == "sd":
            return None
        spreads.append((sd if side.sd is None else side.sd, _run_count(side)))
        if side.number:
            rounding += side.number.half_digit
    if not printed:
        spreads.append((sd, len(ours)))
    variances = []
    for spread, count in spreads:
        if spread is None:
            return None
        variances.append(spread**2 / (count or 1))
    degrees = len(ours) - 1 if len(ours) > 1 else math.inf
    return t_quantile(degrees) * math.sqrt(sum(variances)) + rounding


def _run_count(reported: Reported) -> int:
    """Return the number of runs that a printed number is the mean of."""
    if reported.statistic == "mean":
        return reported.seeds or 1
    return 1


def _variants(paper: Paper) -> set[str]:
    """Return the protocols of a paper that are run for adjudication.

    Released checkpoints of a row are not included.
    """
    return {AS_RUN, *(protocol.id for protocol in paper.protocols)}


def _printed_gap(reported: Reported | None, other: Reported | None, ours: float | None) -> float | None:
    """Return the printed gap without binary noise.

    If no other paper prints a number, the other side is `ours`. Returns None if there is no gap, or if it is within the
    rounding.
    """
    if reported is None or reported.number is None:
        return None
    rounding = reported.number.half_digit
    if other is not None and other.number is not None:
        ours = other.number.value
        rounding += other.number.half_digit
    if ours is None:
        return None
    gap = round(reported.number.value - ours, 10)
    return gap if abs(gap) > rounding else None


def _mean(values: Sequence[float | None]) -> float | None:
    """Compute the mean of some numbers; None if a number is missing."""
    complete = [value for value in values if value is not None]
    if not values or len(complete) < len(values):
        return None
    return mean_and_spread(complete)[0]
