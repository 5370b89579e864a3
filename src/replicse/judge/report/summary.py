"""Summary of the results of a study."""

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import median

from replicse.judge.report.report_types import (
    ColumnShape,
    ComparedRows,
    Effect,
    JudgedItem,
    Orders,
    Seconds,
    Tests,
    Turned,
)
from replicse.judge.statistics.intervals import p_of_mean
from replicse.judge.statistics.multiplicity import FALSE, count_significant

MOST_PARTS = 8  # the time of other parts is added up


def compared_rows(items: Sequence[JudgedItem]) -> ComparedRows | None:
    """Test the differences of rows to their baseline rows (Holm).

    If several tables contain a difference of the same runs, it is counted once, over all pairs of backbone and seed if
    possible. Two seeds give no interval, so their differences are not tested.

    Args:
        items: the items.

    Returns:
        The significant differences; None if no difference can be tested.
    """
    tested: dict[tuple[object, ...], Effect] = {}
    for item in items:
        for effect in item.effects:
            runs = _runs_compared(item, effect)
            known = tested.get(runs)
            if effect.ours.low is not None and (known is None or effect.backbones > known.backbones):
                tested[runs] = effect
    if not tested:
        return None
    by_p = sorted(tested.values(), key=_p)
    return ComparedRows(len(by_p), tuple(by_p[: count_significant(list(map(_p, by_p)))]))


def _runs_compared(item: JudgedItem, effect: Effect) -> tuple[object, ...]:
    """Return the encoders of both rows and the metric.

    Returns the cell if it has no encoders.
    """
    cell, base = item.described[effect.cell], item.described[effect.cell.at(item.baseline)]
    return (cell.encoders, base.encoders, cell.metric_path) if cell.encoders else (effect.cell,)


def _p(effect: Effect) -> float:
    return p_of_mean(effect.ours, effect.degrees)


def orders_kept(shapes: Sequence[ColumnShape]) -> Orders | None:
    """Count how often columns agree with the printed orders and signs.

    Args:
        shapes: the shapes of the columns.

    Returns:
        The counts; None if there are no columns.
    """
    if not shapes:
        return None
    best, signs, taus = [], [], []
    for shape in shapes:
        taus.append(shape.rank.tau)
        if shape.best is not None:
            best.append(Turned(shape.item, shape.label, shape.best))
        for sign in shape.signs:
            if sign.agrees is not None:
                signs.append(sign.agrees)
    turned = tuple(each for each in best if not each.best.kept)
    return Orders(
        signs_kept=sum(signs),
        signs=len(signs),
        best_kept=len(best) - len(turned),
        best=len(best),
        tau=median(taus),
        columns=len(shapes),
        turned=turned,
    )


def count_tests(items: Sequence[JudgedItem]) -> Tests | None:
    """Count the tested cells, and cells with the verdict higher or lower.

    Args:
        items: the items.

    Returns:
        The counts; None if no cell was tested.
    """
    tested = found = 0
    for item in items:
        for cell in item.described.values():
            if cell.p is not None:
                tested += 1
                found += cell.verdict in ("higher", "lower")
    if not tested:
        return None
    return Tests(tested, found, FALSE)


def seconds_by_part(training: Mapping[str, float], evaluations: Mapping[str, float]) -> Seconds | None:
    """Add up the seconds of runs and evaluations, the longest part first.

    Args:
        training: dict from run to seconds; the name of a run begins with the objective.
        evaluations: dict from evaluation to seconds.

    Returns:
        The seconds of the parts; None if nothing was run.
    """
    parts: dict[str, list[float]] = {}
    for run, seconds in training.items():
        parts.setdefault(f"training, {run.partition('-s')[0]}", []).append(seconds)
    if evaluations:
        parts["evaluation"] = list(evaluations.values())
    if not sum(map(sum, parts.values())):
        return None
    ranked = sorted(parts.items(), key=lambda part: -sum(part[1]))
    if len(ranked) > MOST_PARTS + 1:
        others = list(chain.from_iterable(seconds for _, seconds in ranked[MOST_PARTS:]))
        ranked = [*ranked[:MOST_PARTS], (f"{len(ranked) - MOST_PARTS} others", others)]
    took = tuple((name, sum(each), len(each)) for name, each in ranked)
    return Seconds(took, len(training), len(evaluations))
