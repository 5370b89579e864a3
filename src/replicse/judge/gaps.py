"""What explains printed gaps: the cells that stand for the others, and the variant that explains the most of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from replicse.judge.judgements import Explained
from replicse.judge.report import AdjudicatedItem, GapExplained
from replicse.judge.shape import shape_columns
from replicse.judge.statistics import interval_of_mean
from replicse.judge.table import ItemResult
from replicse.spec.protocols import AS_RUN

# In this order: what only explains a part is named where nothing explains a gap.
OUTCOMES = ("explains", "in part")


def adjudicated_items(
    rows: Sequence[Explained], items: Mapping[str, ItemResult]
) -> Iterator[AdjudicatedItem]:
    """Yield the cells of each adjudicated item that are shown."""
    for name, part in groupby(rows, key=attrgetter("item")):
        every = list(part)
        shown = shown_cells(items[name], every)
        left_out = len({row.cell for row in every}) - len({row.cell for row in shown})
        yield AdjudicatedItem(name, tuple(shown), left_out)


def shown_cells(item: ItemResult, rows: Sequence[Explained]) -> list[Explained]:
    """Return the cells that are shown: averages stand for their parts, the end for a trajectory.

    Of what is left, cells that another paper prints too; all where no cell has such a counterpart.
    """
    columns = {(column.id, column.metric) for column in shape_columns(item)}
    shown = [row for row in rows if (row.column, row.metric) in columns]
    return [row for row in shown if row.other] or shown


def gaps_known(rows: Sequence[Explained]) -> bool | None:
    """Return whether a printed gap is known to be larger than its noise; None where there is no gap."""
    gaps = [row for row in rows if row.gap is not None]
    return any(row.share is not None for row in gaps) if gaps else None


def gap_explained(rows: Sequence[Explained], items: Mapping[str, ItemResult]) -> GapExplained | None:
    """Return which variant explains the most gaps, and how much of them; None where none explains any.

    Nothing is said of gaps that are not larger than their noise: they have no share.
    """
    gaps = groupby((row for row in rows if row.gap is not None), key=attrgetter("item"))
    shown = [row for name, part in gaps for row in shown_cells(items[name], list(part))]
    outcome = next((each for each in OUTCOMES if any(row.outcome == each for row in shown)), "")
    explained: dict[tuple[str, str], list[Explained]] = {}
    for row in shown:
        if outcome and row.outcome == outcome:
            explained.setdefault((row.item, row.protocol), []).append(row)
    if not explained:
        return None
    # Of two that explain as many it is the one that changes less.
    best = max(explained, key=lambda key: (len(explained[key]), key[1] != AS_RUN))
    labels = {row.id: row.label for row in items[best[0]].rows}
    names = tuple(dict.fromkeys(labels[row.row] for row in explained[best]))
    return GapExplained(*best, outcome, len(explained[best]), names, *pooled_share(explained[best]))


def pooled_share(rows: Sequence[Explained]) -> tuple[float | None, float | None, float | None]:
    """Return the share of several gaps together, and its bounds: all effects over all gaps, by seed."""
    if len(rows) == 1:
        return rows[0].share, rows[0].share_low, rows[0].share_high
    gaps = [row.gap or 0.0 for row in rows]
    total = math.fsum(map(abs, gaps))
    by_seed: list[Sequence[float]] = [row.by_seed for row in rows]
    if len(set(map(len, by_seed))) > 1:
        # A seed that failed in one of them leaves no pairs.
        by_seed = [[row.effect or 0.0] for row in rows]
    shares = [
        math.fsum(math.copysign(effect, effect * gap) for effect, gap in zip(effects, gaps, strict=True))
        / total
        for effects in zip(*by_seed, strict=True)
    ]
    pooled = interval_of_mean(tuple(shares))
    return pooled.mean, pooled.low, pooled.high
