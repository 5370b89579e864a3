"""The most telling of a study's results: the effects and the protocols that a report begins with."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from replicse.judge.judgements import Explained
from replicse.judge.multiplicity import FALSE
from replicse.judge.report import (
    ColumnShape,
    Effect,
    JudgedItem,
    Orders,
    Seconds,
    StrongEffect,
    StrongProtocol,
    Tests,
    Turned,
)
from replicse.judge.statistics import among
from replicse.registry.suites import is_percentage

MOST_UNPRINTED, MOST_PROTOCOLS = 3, 2
MOST_PARTS = 8  # of a study's time; the others are one part
# The encoders and the metric path of a row: tables that share them show one effect.
Measured = tuple[tuple[str, ...], str]


def strong_effects(items: Sequence[JudgedItem]) -> Iterator[StrongEffect]:
    """Yield the strongest effect with the printed sign, the strongest with the other, and the largest of no print."""
    every = [(effect, _measured(item, effect)) for item in items for effect in item.effects]
    decided = [(effect, what) for effect, what in every if effect.decided and effect.printed != 0]
    decided.sort(key=lambda each: each[0].strength, reverse=True)
    # Of the same runs in several tables one is a candidate.
    candidates = len({what for effect, what in every if effect.ours.low is not None})

    def bounds(effect: Effect) -> tuple[float, float] | None:
        return among(effect.ours, candidates, effect.backbones - 1 if effect.backbones else None)

    chosen = [next((each for each in decided if each[0].agrees is agrees), None) for agrees in (True, False)]
    apart = [each for each in decided if each[0].printed is None and each[0].points]
    # Of a row the column in which its effect is largest.
    largest: dict[tuple[str, str], tuple[Effect, Measured]] = {}
    # What stays different from zero among all of them comes first.
    for each in sorted(apart, key=lambda each: (_holds_zero(bounds(each[0])), -abs(each[0].ours.mean))):
        largest.setdefault((each[0].item, each[0].row), each)
    for effect, what in [*filter(None, chosen), *list(largest.values())[:MOST_UNPRINTED]]:
        same = [other for other, measured in decided if measured == what]
        yield StrongEffect(
            effect=effect,
            row=max((other.row for other in same), key=_letters),
            base=max((other.base for other in same), key=_letters),
            candidates=candidates,
            bounds=bounds(effect),
        )


def _holds_zero(bounds: tuple[float, float] | None) -> bool:
    return bounds is None or bounds[0] <= 0 <= bounds[1]


def _measured(item: JudgedItem, effect: Effect) -> Measured:
    cell = item.described[effect.cell]
    return cell.encoders, cell.metric_path


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def strong_protocols(rows: Sequence[Explained], items: Mapping[str, JudgedItem]) -> Iterator[StrongProtocol]:
    """Yield the strongest effects in points of protocols where nothing is printed that they could explain."""
    measured = [
        row
        for row in rows
        if row.gap is None and row.low is not None and row.item in items
        if (cell := items[row.item].described.get(row.cell)) and is_percentage(cell.metric_path)
    ]
    decided = [(row, row.paired) for row in measured if row.paired and row.paired.resolved]
    decided.sort(key=lambda each: each[1].strength, reverse=True)
    # Of a protocol the column in which it is strongest.
    strongest: dict[tuple[str, str], StrongProtocol] = {}
    for row, ours in decided:
        strong = StrongProtocol(row, ours, len(measured), among(ours, len(measured)))
        strongest.setdefault((row.item, row.protocol), strong)
    yield from list(strongest.values())[:MOST_PROTOCOLS]


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
