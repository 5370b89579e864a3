"""The diagnosis of a number: is it unusual, and which stated settings and causes may explain it.

No cause has a probability: given a number alone, the right one is no more often guessed than by chance. What somebody
states of a run is compared with the paper's setting, and each difference names the causes that it bears on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replicse.errors import BadInput
from replicse.judge.published import PublishedCell
from replicse.judge.record_diagnosis import FactEffect, RecordedCell, effect_facts, retrained_facts
from replicse.registry.ranges import ANY
from replicse.registry.suites import is_percentage, range_of
from replicse.spec.causes import Cause, Measured

Standing = Literal["", "out of range", "as printed", "not as printed", "usual", "above", "below", "not known"]
# What describes an encoder and its number, and is no setting that a paper has another of.
DESCRIPTIONS = {"encoder-is", "model", "metric"}


@dataclass(frozen=True)
class Fact:
    """What somebody states of a run, the paper's setting (None where it is not known), and the causes it bears on."""

    name: str
    value: Any
    papers: Any
    causes: tuple[Cause, ...]

    @property
    def agrees(self) -> bool:
        """Return whether it is the paper's setting."""
        return self.papers is not None and self.value == self.papers


@dataclass(frozen=True)
class Diagnosis:
    """A number next to what is published of its cell, what was stated, and the causes that its encoder can have.

    `measured` holds the effects that tell of such a number, `excluded` why an encoder cannot have a cause, `recorded`
    what others measured of the cell.
    """

    number: float | None
    published: PublishedCell
    standing: Standing
    facts: tuple[Fact, ...]
    causes: tuple[Cause, ...]
    excluded: Mapping[str, str]
    measured: tuple[Measured, ...]
    recorded: RecordedCell | None = None

    @property
    def difference(self) -> float | None:
        """Return the number less the printed one; None where one of them is missing."""
        printed = self.published.printed
        return None if self.number is None or printed is None else round(self.number - printed.value, 10)

    @property
    def explained(self) -> bool:
        """Return whether the number needs no cause."""
        return self.standing in ("as printed", "usual")

    @property
    def listed(self) -> tuple[Cause, ...]:
        """Return the causes that stated facts bear on which are not the paper's."""
        causes = {cause.id: cause for fact in self.facts if not fact.agrees for cause in fact.causes}
        return tuple(causes.values())

    @property
    def to_try(self) -> tuple[Cause, ...]:
        """Return the causes to look for, the cheapest first: those of stated settings, or without any all of them.

        A score of the encoder is cheapest, then a look at data or versions, then a training. A number out of its range
        has the causes of its metric.
        """
        settings = {fact.name for fact in self.facts} - DESCRIPTIONS
        narrow = {"metric"} if self.standing == "out of range" else settings
        facts = [fact for fact in self.facts if fact.name in narrow and not fact.agrees]
        stated = [cause for cause in self.causes if any(cause in fact.causes for fact in facts)]
        return tuple(sorted(stated or self.causes, key=_cost))

    def measured_of(self, cause: Cause, value: Any) -> list[Measured]:
        """Return what was measured of a cause: of the variant that a stated value names, or else of all."""
        every = [each for each in self.measured if each.cause == cause.id]
        return [each for each in every if each.variant == value] or every

    def recorded_of(self, fact: Fact) -> list[FactEffect]:
        """Return what others measured of a fact: with the stated value, or else with any."""
        every = [each for each in self.recorded.effects if fact.name in each.facts] if self.recorded else []
        return [each for each in every if each.value[fact.name] == fact.value] or every

    def test_of(self, cause: Cause) -> str:
        """Return how to test a cause, its command with the cell that a number is compared with."""
        return cause.test.replace("CELL", self.published.name or "CELL")

    def plain(self) -> dict[str, Any]:
        """Return the diagnosis as plain data."""
        published = self.published
        spreads = [
            {"name": each.name, "mean": each.mean, "sd": each.sd, "n": each.n}
            | dict(zip(("low", "high"), each.bounds(), strict=True))
            for each in published.spreads
        ]
        facts = [
            {
                "fact": fact.name,
                "value": fact.value,
                "paper": fact.papers,
                "others": [effect_facts(each) for each in self.recorded_of(fact)],
                "causes": {
                    cause.id: {
                        "reported": [
                            {"thread": thread, "confirmed": cause.threads[thread], "effect": delta}
                            for thread, delta in cause.deltas
                        ],
                        "measured": [each.plain() for each in self.measured_of(cause, fact.value)],
                    }
                    for cause in fact.causes
                },
            }
            for fact in self.facts
        ]
        return {
            "number": self.number,
            "cell": published.name,
            "printed": published.reported.value if published.reported else None,
            "difference": self.difference,
            "standing": self.standing,
            "spreads": spreads,
            "reruns": dict(published.reruns),
            "retrained": retrained_facts(self.recorded),
            "facts": facts,
            "listed": [cause.id for cause in self.listed],
            "try": [
                {"cause": cause.id, "test": self.test_of(cause), "fix": cause.fix} for cause in self.to_try
            ],
            "excluded": dict(self.excluded),
        }


def _cost(cause: Cause) -> int:
    return 0 if cause.checks else 2 if cause.kinds == ("trained",) else 1


def diagnose(
    number: float | None,
    published: PublishedCell,
    stated: Mapping[str, Any],
    causes: Sequence[Cause],
    measured: Sequence[Measured] = (),
    recorded: RecordedCell | None = None,
) -> Diagnosis:
    """Return the diagnosis of a number, or without one of what was stated alone."""
    model = f"{published.model} {stated.get('model', '')}".lower()
    suite = published.metric_path.partition("/")[0]
    reasons = {cause.id: cause.excluded(published.kind, published.metric_path, model) for cause in causes}
    possible = tuple(cause for cause in causes if not reasons[cause.id])
    facts = [
        Fact(
            name, value, published.settings.get(name), tuple(each for each in possible if name in each.facts)
        )
        for name, value in stated.items()
        if name not in DESCRIPTIONS
    ]
    of_model = tuple(each for each in possible if any(part in model for part in each.models))
    of_metric = tuple(each for each in possible if suite in each.metrics)
    for name, value, those in (
        ("model", model.strip(), of_model),
        ("metric", published.metric_path, of_metric),
    ):
        facts += [Fact(name, value, None, those)] if those else []
    return Diagnosis(
        number=number,
        published=published,
        standing=standing_of(number, published),
        facts=tuple(facts),
        causes=possible,
        excluded={name: reason for name, reason in reasons.items() if reason},
        measured=tuple(each for each in measured if _tells_of(each, published)),
        recorded=recorded,
    )


def standing_of(number: float | None, published: PublishedCell) -> Standing:
    """Return where a number lies among what is published of its cell; blank without a number."""
    if number is None:
        return ""
    limits, printed = range_of(published.metric_path), published.printed
    if limits is not None and not limits.holds(number):
        return "out of range"
    # Both are rounded.
    if printed is not None and round(abs(number - printed.value), 10) <= 2 * printed.half_digit:
        return "as printed"
    if printed is not None and published.kind in ("released", "untrained"):
        return "not as printed"
    if not published.spreads:
        return "not known"
    # Seeds in the printed setting decide, else whatever has most values: a few reruns would allow almost anything.
    low, high = max(published.spreads, key=lambda spread: (spread.is_printed, spread.n)).bounds()
    return "below" if number < low else "above" if number > high else "usual"


def check_number(number: float, published: PublishedCell) -> None:
    """Raise BadInput where a number is none, or is a fraction of what is x 100."""
    if not ANY.holds(number):
        raise BadInput(f"{number:g} is no score; expected {ANY}")
    printed = published.printed
    if is_percentage(published.metric_path) and printed and abs(number) <= 1 < abs(printed.value) / 10:
        raise BadInput(f"{number:g} is a fraction; scores are x 100 here, so write {100 * number:g}")


def _tells_of(measured: Measured, published: PublishedCell) -> bool:
    """Return whether an effect is of the suite of a number and of an encoder that is fine-tuned too, or not either."""
    suite = published.metric_path.partition("/")[0]
    same = not published.kind or (published.kind == "untrained") == (measured.kind == "untrained")
    return same and suite in ("", measured.metric.partition("/")[0])
