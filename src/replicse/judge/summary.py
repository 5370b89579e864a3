"""What a study's results come to: significant differences, orders, verdicts, and where the time went."""

from collections.abc import Mapping, Sequence
from statistics import median

from replicse.judge.multiplicity import FALSE, count_significant
from replicse.judge.report import (
    ColumnShape,
    ComparedRows,
    Effect,
    JudgedItem,
    Orders,
    Seconds,
    Tests,
    Turned,
)
from replicse.judge.statistics import p_of_mean

MOST_PARTS = 8  # of a study's time; the others are one part


def compared_rows(items: Sequence[JudgedItem]) -> ComparedRows | None:
    """Return which differences to baseline rows are significant among all of a study (Holm); None without any.

    A difference of the same runs in several tables is counted once: over all pairs of backbone and seed if one has
    them. Two seeds give no interval, so such a difference is not tested.
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
    """Return the encoders of both rows and the metric; the cell itself if it has no encoders of its own."""
    cell, base = item.described[effect.cell], item.described[effect.cell.at(item.baseline)]
    return (cell.encoders, base.encoders, cell.metric_path) if cell.encoders else (effect.cell,)


def _p(effect: Effect) -> float:
    return p_of_mean(effect.ours, effect.degrees)


def orders_kept(shapes: Sequence[ColumnShape]) -> Orders | None:
    """Return what all columns keep of the orders and signs in print; None without any."""
    if not shapes:
        return None
    best = [Turned(shape.item, shape.label, shape.best) for shape in shapes if shape.best is not None]
    signs = [sign.agrees for shape in shapes for sign in shape.signs if sign.agrees is not None]
    return Orders(
        signs_kept=sum(signs),
        signs=len(signs),
        best_kept=sum(each.best.kept for each in best),
        best=len(best),
        tau=median(shape.rank.tau for shape in shapes),
        columns=len(shapes),
        turned=tuple(each for each in best if not each.best.kept),
    )


def tested(items: Sequence[JudgedItem]) -> Tests | None:
    """Return how many cells were tested and called higher or lower; None where none was tested."""
    cells = [cell for item in items for cell in item.described.values() if cell.p is not None]
    found = sum(cell.verdict in ("higher", "lower") for cell in cells)
    return Tests(len(cells), found, FALSE) if cells else None


def seconds_by_part(training: Mapping[str, float], evaluations: Mapping[str, float]) -> Seconds | None:
    """Return the seconds of the runs by objective and of the evaluations, most first; None for none.

    A run's name begins with its objective.
    """
    parts: dict[str, list[float]] = {}
    for run, seconds in training.items():
        parts.setdefault(f"training, {run.partition('-s')[0]}", []).append(seconds)
    if evaluations:
        parts["evaluation"] = list(evaluations.values())
    ranked = sorted(parts.items(), key=lambda part: -sum(part[1]))
    if not sum(map(sum, parts.values())):
        return None
    if len(ranked) > MOST_PARTS + 1:
        others = [second for _, each in ranked[MOST_PARTS:] for second in each]
        ranked = [*ranked[:MOST_PARTS], (f"{len(ranked) - MOST_PARTS} others", others)]
    took = tuple((name, sum(each), len(each)) for name, each in ranked)
    return Seconds(took, len(training), len(evaluations))
