"""Adjudication: which difference of protocol explains a gap between two papers, or between a paper and its text.

For every cell of an adjudicated item: both printed numbers, ours as the text describes it, ours under each
variant and under all of the released code, and the share of the printed gap that each explains.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from replicse.files import write_rows
from replicse.study.paper.protocols import AS_RUN
from replicse.study.plan.counterparts import CellKey, cell_key, counterparts, described
from replicse.study.plan.plan import Cell, Plan
from replicse.study.results.statistics import LEVEL, mean_and_spread, t_quantile
from replicse.study.results.tabulate import Evaluations
from replicse.study.results.verdict import printed_number


@dataclass(frozen=True)
class Explained:
    """One cell under one variant.

    `gap` is the printed number less the other paper's; where no other paper prints one, the printed number
    less ours as described, and only at a scale whose numbers are comparable. `effect` is ours under the
    variant less ours as described, paired by seed, `low` and `high` its 95% interval (None with one seed);
    `share` is effect / gap with the bounds it inherits.
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


FIELDS = [entry.name for entry in fields(Explained)]


def adjudicated(plan: Plan) -> list[str]:
    """Return the items of the study whose variants are run, in order."""
    return [name for name, cells in plan.cells.items() if any(_is_variant(plan, cell) for cell in cells)]


def adjudicate(plan: Plan, item: str, evaluations: Evaluations) -> Iterator[Explained]:
    """Yield every number of an item under every variant that may explain it."""
    pairs = counterparts(plan.papers)
    variants = defaultdict(list)
    for cell in plan.cells[item]:
        if _is_variant(plan, cell):
            variants[cell_key(cell)].append(cell)
    for cell in described(plan, item):
        if cell.column.metric == "text" or cell.column.choose or cell.column.minus:
            continue
        for variant in variants[cell_key(cell)]:
            yield explained(plan, cell, variant, pairs.get(cell_key(cell)), evaluations)


def explained(
    plan: Plan, cell: Cell, variant: Cell, counterpart: CellKey | None, evaluations: Evaluations
) -> Explained:
    """Return what one variant does to one cell."""
    base = [evaluations.value(encoder, cell.read)[0] for encoder in cell.encoders]
    changed = [evaluations.value(encoder, variant.read)[0] for encoder in variant.encoders]
    ours = _mean(base)
    other = (
        plan.papers[counterpart[0].partition("/")[0]].reported.get(
            (counterpart[0].partition("/")[2], *counterpart[1:])
        )
        if counterpart
        else None
    )
    gap = _gap(cell, other.value if other else None, ours if plan.scale.comparable else None)
    effect, low, high, count = paired_effect(base, changed)
    shares = [None if bound is None or not gap else bound / gap for bound in (effect, low, high)]
    share, bounds = shares[0], sorted(bound for bound in shares[1:] if bound is not None)
    return Explained(
        item=cell.item.id,
        row=cell.row.id,
        column=cell.column.id,
        metric=cell.column.metric,
        other="/".join(counterpart) if other else "",
        reported_other=other.value if other else "",
        reported=cell.reported.value if cell.reported else "",
        gap=gap,
        described=ours,
        protocol=variant.protocol,
        ours=_mean(changed),
        effect=effect,
        low=low,
        high=high,
        share=share,
        share_low=bounds[0] if bounds else None,
        share_high=bounds[-1] if bounds else None,
        n_seeds=count,
    )


def paired_effect(
    base: Sequence[float | None], changed: Sequence[float | None]
) -> tuple[float | None, float | None, float | None, int]:
    """Return the mean of changed - base over the seeds that have both, its 95% bounds, and their number.

    The two sides share seed, data order and initial weights, so what a seed does to both cancels.
    """
    differences = [
        float(new) - float(old)
        for old, new in zip(base, changed, strict=False)
        if old is not None and new is not None and math.isfinite(float(new) - float(old))
    ]
    if not differences:
        return None, None, None, 0
    mean, spread = mean_and_spread(differences)
    if spread is None:
        return mean, None, None, 1
    half = t_quantile(len(differences) - 1, LEVEL) * spread / math.sqrt(len(differences))
    return mean, mean - half, mean + half, len(differences)


def write_adjudication(rows: Iterable[Explained], out: Path) -> int:
    """Write adjudication.csv and return the number of its rows; what is missing is blank."""
    return write_rows(out, FIELDS, map(asdict, rows))


def _is_variant(plan: Plan, cell: Cell) -> bool:
    """Return whether a cell stands under one of its paper's protocols; a released checkpoint does not."""
    protocols = plan.papers[cell.item.paper].protocols
    return cell.protocol == AS_RUN or any(cell.protocol == protocol.id for protocol in protocols)


def _gap(cell: Cell, other: str | None, ours: float | None) -> float | None:
    """Return the printed gap without binary noise; None where it is not printed or within its rounding."""
    own, second = printed_number(cell.reported.value if cell.reported else None), printed_number(other)
    if own is None or (second is None and ours is None):
        return None
    gap = round(own.value - (second.value if second else ours), 10)
    return gap if abs(gap) > own.half_digit + (second.half_digit if second else 0) else None


def _mean(values: Sequence[float | None]) -> float | None:
    present = [float(value) for value in values if value is not None]
    return mean_and_spread(present)[0] if present and len(present) == len(values) else None
