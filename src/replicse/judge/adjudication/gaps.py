"""Selection of the adjudicated cells to show, and of the best explanation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from replicse.judge.report.judgements import Explained
from replicse.judge.report.report_types import AdjudicatedItem, GapExplained
from replicse.judge.statistics.intervals import interval_of_mean
from replicse.judge.statistics.shape import shape_columns
from replicse.judge.verdicts.table import ItemResult
from replicse.spec.protocols import AS_RUN

# A variant that explains gaps in part is used only if no variant explains a gap.
OUTCOMES = ("explains", "in part")


def adjudicated_items(
    rows: Sequence[Explained], items: Mapping[str, ItemResult]
) -> Iterator[AdjudicatedItem]:
    """Yield the shown cells of each adjudicated item."""
    for name, part in groupby(rows, key=attrgetter("item")):
        every = list(part)
        shown = shown_cells(items[name], every)
        left_out = _count_cells(every) - _count_cells(shown)
        yield AdjudicatedItem(name, tuple(shown), left_out)


def _count_cells(rows: Sequence[Explained]) -> int:
    return len({row.cell for row in rows})


def shown_cells(item: ItemResult, rows: Sequence[Explained]) -> list[Explained]:
    """Select the cells to show.

    Averages are shown instead of their parts, and only the last step of a trajectory. If another paper prints some of
    these cells, only they are shown.

    Args:
        item: the result of the item.
        rows: list of its cells under variants.
    """
    columns = {(column.id, column.metric) for column in shape_columns(item)}
    shown, repeated = [], []
    for row in rows:
        if (row.column, row.metric) in columns:
            shown.append(row)
            if row.other:
                repeated.append(row)
    return repeated or shown


def gaps_known(rows: Sequence[Explained]) -> bool | None:
    """Return whether a printed gap is larger than the noise.

    Returns None if there is no gap.
    """
    gaps = [row for row in rows if row.gap is not None]
    if not gaps:
        return None
    return any(row.share is not None for row in gaps)


def gap_explained(rows: Sequence[Explained], items: Mapping[str, ItemResult]) -> GapExplained | None:
    """Return the variant that explains the most gaps, and the share of them.

    Gaps within their noise have no share and are skipped.

    Args:
        rows: list of cells under variants.
        items: the results of the items by id.

    Returns:
        The variant; None if no variant explains a gap.
    """
    with_gap = [row for row in rows if row.gap is not None]
    shown: list[Explained] = []
    for name, part in groupby(with_gap, key=attrgetter("item")):
        shown += shown_cells(items[name], list(part))
    outcomes = {row.outcome for row in shown}
    outcome = next((each for each in OUTCOMES if each in outcomes), "")
    explained: dict[tuple[str, str], list[Explained]] = {}
    for row in shown:
        if outcome and row.outcome == outcome:
            explained.setdefault((row.item, row.protocol), []).append(row)
    if not explained:
        return None
    # If two variants explain the same number of gaps, use the variant with fewer changes.
    best = max(explained, key=lambda key: (len(explained[key]), key[1] != AS_RUN))
    labels = {row.id: row.label for row in items[best[0]].rows}
    names = tuple(dict.fromkeys(labels[row.row] for row in explained[best]))
    return GapExplained(*best, outcome, len(explained[best]), names, *pooled_share(explained[best]))


def pooled_share(rows: Sequence[Explained]) -> tuple[float | None, float | None, float | None]:
    """Compute the share of several gaps together, with bounds.

    The share is the sum of effects divided by the sum of gaps, by seed.

    Args:
        rows: list of cells under the same variant.

    Returns:
        The share with the lower and upper bound at 95%.
    """
    if len(rows) == 1:
        return rows[0].share, rows[0].share_low, rows[0].share_high
    gaps = [row.gap or 0.0 for row in rows]
    total = math.fsum(map(abs, gaps))
    by_seed: list[Sequence[float]] = [row.by_seed for row in rows]
    if len(set(map(len, by_seed))) > 1:
        # A seed failed in one of the rows, so seeds cannot be paired.
        by_seed = [[row.effect or 0.0] for row in rows]
    shares = []
    for effects in zip(*by_seed, strict=True):
        towards = []
        for effect, gap in zip(effects, gaps, strict=True):
            towards.append(math.copysign(effect, effect * gap))
        shares.append(math.fsum(towards) / total)
    pooled = interval_of_mean(tuple(shares))
    return pooled.mean, pooled.low, pooled.high
