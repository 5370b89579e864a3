"""What stands out of a study's results: the effects and the protocols that a report begins with."""

from collections.abc import Iterator, Sequence

from replicse.judge.report import Effect, JudgedItem, StrongEffect
from replicse.judge.statistics import among

MOST_UNPRINTED = 3
# The encoders and the metric path of a row: tables that share them show one effect.
Measured = tuple[tuple[str, ...], str]


def strong_effects(items: Sequence[JudgedItem]) -> Iterator[StrongEffect]:
    """Yield the strongest effect with the printed sign, the strongest with the other, and the largest of no print."""
    every = [(effect, _measured(item, effect)) for item in items for effect in item.effects]
    decided = [(effect, what) for effect, what in every if effect.decided and effect.printed != 0]
    decided.sort(key=lambda each: each[0].strength, reverse=True)
    # Of the same runs in several tables one is a candidate.
    candidates = len({what for effect, what in every if effect.ours.low is not None})
    chosen = [next((each for each in decided if each[0].agrees is agrees), None) for agrees in (True, False)]
    apart = [each for each in decided if each[0].printed is None and each[0].points]
    # Of a row the column in which its effect is largest.
    largest: dict[tuple[str, str], tuple[Effect, Measured]] = {}
    for each in sorted(apart, key=lambda each: -abs(each[0].ours.mean)):
        largest.setdefault((each[0].item, each[0].row), each)
    for effect, what in [*filter(None, chosen), *list(largest.values())[:MOST_UNPRINTED]]:
        same = [other for other, measured in decided if measured == what]
        yield StrongEffect(
            effect=effect,
            row=max((other.row for other in same), key=_letters),
            base=max((other.base for other in same), key=_letters),
            candidates=candidates,
            bounds=among(effect.ours, candidates),
        )


def _measured(item: JudgedItem, effect: Effect) -> Measured:
    cell = item.described[effect.cell]
    return cell.encoders, cell.metric_path


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))
