"""Diagnosis of a number: is it unusual, and which causes may explain it?

Causes have no probabilities, because guessing the cause from a number alone is no better than chance. Stated settings
of a run are compared with the paper's settings, and each difference has a list of causes that it can lead to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replicse.errors import BadInput
from replicse.judge.adjudication.published import PublishedCell, SeedSpread
from replicse.judge.adjudication.record_diagnosis import (
    FactEffect,
    RecordedCell,
    effect_facts,
    retrained_facts,
)
from replicse.registry.ranges import ANY
from replicse.registry.suites import is_percentage, range_of
from replicse.spec.causes import Cause, Measured

Standing = Literal["", "out of range", "as printed", "not as printed", "usual", "above", "below", "not known"]
# Facts that describe an encoder or a number. They are not settings that can differ from the paper.
DESCRIPTIONS = {"encoder-is", "model", "metric"}


@dataclass(frozen=True)
class Fact:
    """A stated setting of a run, compared with the paper's setting.

    Attributes:
        name: the name of the fact.
        value: the stated setting.
        papers: the paper's setting; None if it is unknown.
        causes: the causes that the setting can lead to.
    """

    name: str
    value: Any
    papers: Any
    causes: tuple[Cause, ...]

    @property
    def agrees(self) -> bool:
        """Return whether the setting is the paper's setting."""
        return self.papers is not None and self.value == self.papers


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosed number with stated settings and possible causes.

    By default, the cell has no measurements by others.

    Attributes:
        number: the number; None to diagnose only stated settings.
        published: the published numbers and settings of the cell.
        standing: the place of the number among the published numbers.
        facts: the stated settings.
        causes: the causes that the encoder can have.
        excluded: dict from other causes to the reason why the encoder cannot have them.
        measured: measured effects of causes on such a number.
        recorded: others' measurements of the cell.
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
        """Return the number minus the printed number.

        Returns None if a number is missing.
        """
        printed = self.published.printed
        if self.number is None or printed is None:
            return None
        return round(self.number - printed.value, 10)

    @property
    def explained(self) -> bool:
        """Return whether the number is normal, so that no cause is needed."""
        return self.standing in ("as printed", "usual")

    @property
    def listed(self) -> tuple[Cause, ...]:
        """Return the causes of stated settings that differ from the paper."""
        causes: dict[str, Cause] = {}
        for fact in self.facts:
            if not fact.agrees:
                for cause in fact.causes:
                    causes[cause.id] = cause
        return tuple(causes.values())

    @property
    def to_try(self) -> tuple[Cause, ...]:
        """Return the causes to look for, the cheapest first.

        These are causes of stated settings, or all causes if no setting is stated. Evaluating the encoder is the
        cheapest, then checking datasets or versions, then a training. If the number is out of range, only causes of the
        metric are used.
        """
        names = {fact.name for fact in self.facts} - DESCRIPTIONS
        if self.standing == "out of range":
            names = {"metric"}
        of_facts: set[str] = set()
        for fact in self.facts:
            if fact.name in names and not fact.agrees:
                of_facts.update(_cause_ids(fact.causes))
        stated = [cause for cause in self.causes if cause.id in of_facts]
        return tuple(sorted(stated or self.causes, key=_cost))

    def measured_of(self, cause: Cause, value: Any) -> list[Measured]:
        """Return the measured effects of a cause.

        Only effects of the variant with the stated value are returned, if it was measured.
        """
        every = [each for each in self.measured if each.cause == cause.id]
        return [each for each in every if each.variant == value] or every

    def recorded_of(self, fact: Fact) -> list[FactEffect]:
        """Return the effects of a fact that others measured.

        Only effects of the stated value are returned, if it was measured.
        """
        if self.recorded is None:
            return []
        every = [each for each in self.recorded.effects if fact.name in each.facts]
        return [each for each in every if each.value[fact.name] == fact.value] or every

    def test_of(self, cause: Cause) -> str:
        """Return the command that tests a cause, with the cell of the number."""
        return cause.test.replace("CELL", self.published.name or "CELL")

    def plain(self) -> dict[str, Any]:
        """Return the diagnosis as a dict for JSON."""
        published = self.published
        return {
            "number": self.number,
            "cell": published.name,
            "printed": published.reported.value if published.reported else None,
            "difference": self.difference,
            "standing": self.standing,
            "spreads": list(map(_plain_spread, published.spreads)),
            "reruns": dict(published.reruns),
            "retrained": retrained_facts(self.recorded),
            "facts": list(map(self._plain_fact, self.facts)),
            "listed": _cause_ids(self.listed),
            "try": list(map(self._plain_test, self.to_try)),
            "excluded": dict(self.excluded),
        }

    def _plain_test(self, cause: Cause) -> dict[str, str]:
        return {"cause": cause.id, "test": self.test_of(cause), "fix": cause.fix}

    def _plain_fact(self, fact: Fact) -> dict[str, Any]:
        causes = {}
        for cause in fact.causes:
            reported = []
            for thread, delta in cause.deltas:
                reported.append({"thread": thread, "confirmed": cause.threads[thread], "effect": delta})
            measured = list(map(Measured.plain, self.measured_of(cause, fact.value)))
            causes[cause.id] = {"reported": reported, "measured": measured}
        others = list(map(effect_facts, self.recorded_of(fact)))
        return {
            "fact": fact.name,
            "value": fact.value,
            "paper": fact.papers,
            "others": others,
            "causes": causes,
        }


def _cause_ids(causes: Sequence[Cause]) -> list[str]:
    return [cause.id for cause in causes]


def _plain_spread(spread: SeedSpread) -> dict[str, Any]:
    low, high = spread.bounds()
    return {
        "name": spread.name,
        "mean": spread.mean,
        "sd": spread.sd,
        "n": spread.n,
        "low": low,
        "high": high,
    }


def _cost(cause: Cause) -> int:
    """Return the rank of a cause by the cost of a test."""
    if cause.checks:
        return 0
    if cause.kinds == ("trained",):
        return 2
    return 1


def diagnose(
    number: float | None,
    published: PublishedCell,
    stated: Mapping[str, Any],
    causes: Sequence[Cause],
    measured: Sequence[Measured] = (),
    recorded: RecordedCell | None = None,
) -> Diagnosis:
    """Diagnose a number, or only stated settings.

    Args:
        number: the number; None to diagnose only the settings.
        published: the published numbers and settings of the cell.
        stated: dict from the name of a fact to the setting of the run.
        causes: list of all known causes.
        measured: list of measured effects of causes. Default: empty.
        recorded: others' measurements of the cell. Default: None.
    """
    model = f"{published.model} {stated.get('model', '')}".lower()
    suite = published.metric_path.partition("/")[0]
    possible, excluded = [], {}
    for cause in causes:
        reason = cause.excluded(published.kind, published.metric_path, model)
        if reason:
            excluded[cause.id] = reason
        else:
            possible.append(cause)
    facts = []
    for name, value in stated.items():
        if name not in DESCRIPTIONS:
            of_fact = tuple(cause for cause in possible if name in cause.facts)
            facts.append(Fact(name, value, published.settings.get(name), of_fact))
    of_model, of_metric = [], []
    for cause in possible:
        if any(part in model for part in cause.models):
            of_model.append(cause)
        if suite in cause.metrics:
            of_metric.append(cause)
    if of_model:
        facts.append(Fact("model", model.strip(), None, tuple(of_model)))
    if of_metric:
        facts.append(Fact("metric", published.metric_path, None, tuple(of_metric)))
    relevant = tuple(each for each in measured if _is_relevant(each, published))
    return Diagnosis(
        number=number,
        published=published,
        standing=standing_of(number, published),
        facts=tuple(facts),
        causes=tuple(possible),
        excluded=excluded,
        measured=relevant,
        recorded=recorded,
    )


def standing_of(number: float | None, published: PublishedCell) -> Standing:
    """Return the place of a number among the published numbers of a cell.

    Args:
        number: the number; None gives an empty string.
        published: the published numbers of the cell.
    """
    if number is None:
        return ""
    limits, printed = range_of(published.metric_path), published.printed
    if limits is not None and not limits.holds(number):
        return "out of range"
    # Both numbers can be rounded.
    if printed is not None and round(abs(number - printed.value), 10) <= 2 * printed.half_digit:
        return "as printed"
    if printed is not None and published.kind in ("released", "untrained"):
        return "not as printed"
    if not published.spreads:
        return "not known"
    # Use seeds in the printed setting, else the largest sample, because the interval of a few reruns is very wide.
    low, high = max(published.spreads, key=lambda spread: (spread.is_printed, spread.n)).bounds()
    if number < low:
        return "below"
    if number > high:
        return "above"
    return "usual"


def check_number(number: float, published: PublishedCell) -> None:
    """Check that a number is a score x 100.

    Args:
        number: the number.
        published: the published numbers of the cell.

    Raises:
        BadInput: if the number is not finite, or if it is a fraction but the printed number is a percentage.
    """
    if not ANY.holds(number):
        raise BadInput(f"{number:g} is not a score; expected {ANY}")
    printed = published.printed
    if is_percentage(published.metric_path) and printed and abs(number) <= 1 < abs(printed.value) / 10:
        raise BadInput(f"{number:g} is a fraction; scores are x 100 here, so write {100 * number:g}")


def _is_relevant(measured: Measured, published: PublishedCell) -> bool:
    """Return whether an effect was measured on the suite of a number.

    Both encoders must be trained, or both untrained.
    """
    suite = published.metric_path.partition("/")[0]
    is_same_kind = not published.kind or (published.kind == "untrained") == (measured.kind == "untrained")
    return is_same_kind and suite in ("", measured.metric.partition("/")[0])
