"""The diagnosis of a number: is it unusual, and which causes explain it, ranked by their stated effects.

The share of a cause is Bayes' rule in the open. Its prior is how many threads name it. Its likelihood is that of the
difference under its effects in threads and in our measurements (Student's t with a broad prior that all causes share).
What the user says multiplies it: by DIFFERS where a setting is not the paper's, by AGREES where it is. No thread and no
cause has a number of its own.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from replicse.errors import BadInput
from replicse.registry.suites import CORRELATION, is_percentage, range_of
from replicse.study.judge.known import Known, Spread
from replicse.study.paper.causes import Cause, Measured

# What a stated setting does to the causes that it bears on.
DIFFERS, AGREES = 10.0, 0.25
# Before any report an effect is -2 points give or take 4, and counts as one report: numbers that people miss are lower.
PRIOR_MEAN, PRIOR_SD, PRIOR_COUNT, PRIOR_DEGREES = -2.0, 4.0, 1.0, 2.0
# Spread of a trained encoder where none is known: that of the reruns of SimCSE and of DiffCSE (1.01 and 1.02).
USUAL_SD = 1.0
UNUSUAL = 0.05
Bearing = Literal["differs", "agrees"]


@dataclass(frozen=True)
class Effect:
    """What a cause does to a score in points: location, scale and degrees of Student's t, and what it rests on."""

    mean: float
    scale: float
    degrees: float
    rests: str

    def density(self, difference: float, noise: float) -> float:
        """Return how likely a difference is under the cause, with the noise of seeds on top."""
        scale = math.hypot(self.scale, noise)
        place, df = (difference - self.mean) / scale, self.degrees
        log = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2 - math.log(scale)
        return math.exp(log - (df + 1) / 2 * math.log1p(place**2 / df))


def effect_of(threads: Iterable[Sequence[float]], encoders: Iterable[Sequence[float]] = ()) -> Effect:
    """Return the predictive distribution of one more effect: normal effects, mean and variance unknown.

    A group is a thread, or an encoder on which variants were measured, and counts once, however many numbers it has.
    """
    reported, measured = list(threads), list(encoders)
    groups = [*reported, *measured]
    weighted = [(value, 1 / len(group)) for group in groups for value in group]
    count = len(groups)
    mean = math.fsum(value * weight for value, weight in weighted) / count if count else 0.0
    within = math.fsum(weight * (value - mean) ** 2 for value, weight in weighted)
    total = PRIOR_COUNT + count
    centre = (PRIOR_COUNT * PRIOR_MEAN + count * mean) / total
    degrees = PRIOR_DEGREES + count
    squares = PRIOR_DEGREES * PRIOR_SD**2 * PRIOR_COUNT / (PRIOR_COUNT + 1)
    squares += within + PRIOR_COUNT * count * (mean - PRIOR_MEAN) ** 2 / total
    counted = {"report": len(reported), "encoder": len(measured)}
    rests = ", ".join(f"{number} {what}{'s' * (number > 1)}" for what, number in counted.items() if number)
    scale = math.sqrt(squares / degrees * (total + 1) / total)
    return Effect(centre, scale, degrees, rests or "no report")


@dataclass(frozen=True)
class Candidate:
    """A cause with what its share is made of: prior times fit times what was said, over all candidates."""

    cause: Cause
    prior: float
    effect: Effect
    fit: float
    said: float
    bearings: Mapping[str, Bearing] = field(default_factory=dict)
    share: float = 0.0


@dataclass(frozen=True)
class Diagnosis:
    """A number next to what is known of its cell, and the causes that explain the difference, the likeliest first."""

    number: float | None
    known: Known
    facts: Mapping[str, Any]
    candidates: tuple[Candidate, ...]
    excluded: Mapping[str, str]

    @cached_property
    def difference(self) -> float | None:
        """Return the number less the printed one, in points; None where one is missing or the metric is not x 100."""
        printed, path = self.known.reported.number if self.known.reported else None, self.known.metric_path
        if self.number is None or printed is None or not (not path or is_percentage(path)):
            return None
        return round(self.number - printed.value, 10)

    @property
    def no_fit(self) -> str:
        """Return why there is no difference that a cause could fit; blank where there is one."""
        if self.number is None:
            return "no number was given"
        if not self.known.reported or not self.known.reported.number:
            return "no number is printed"
        return "" if self.difference is not None else f"{self.known.metric_path} is no score x 100"

    @property
    def unusual(self) -> bool | None:
        """Return whether the number lies outside what seeds and reruns give (95%); None where neither is known."""
        if self.number is None or not self.known.spreads:
            return None
        return all(spread.surprise(self.number) < UNUSUAL for spread in self.known.spreads)


def check_number(number: float, known: Known) -> None:
    """Raise BadInput where a number is none that the metric of a cell can have, or is a fraction of what is x 100."""
    limits = range_of(known.metric_path) or CORRELATION
    where = known.metric_path or "a score"
    if not limits.holds(number):
        raise BadInput(f"{number:g} is no value of {where}; expected {limits}")
    printed = known.reported.number if known.reported else None
    if is_percentage(known.metric_path) and printed and abs(number) <= 1 < abs(printed.value) / 10:
        raise BadInput(f"{number:g} is a fraction; scores are x 100 here, so write {100 * number:g}")


def diagnose(
    number: float | None,
    known: Known,
    facts: Mapping[str, Any],
    causes: Sequence[Cause],
    measured: Sequence[Measured] = (),
) -> Diagnosis:
    """Return the diagnosis of a number; without one the causes are ranked by threads and facts alone."""
    difference = Diagnosis(number, known, facts, (), {}).difference
    noise = _noise(known)
    total = sum(len(cause.threads) + 1 for cause in causes)
    candidates, excluded = [], {}
    for cause in causes:
        model = f"{known.model} {facts.get('model', '')}"
        if why := cause.excluded(facts.get("encoder-is", known.kind), known.metric_path, model):
            excluded[cause.id] = why
            continue
        effect = _effect(cause, known, [each for each in measured if _tells_of(each, known, facts)])
        bearings = _bearings(cause, known, facts)
        fit = (
            1.0
            if difference is None
            else effect.density(difference, 0.0 if _is_spread(cause, known) else noise)
        )
        prior = (len(cause.threads) + 1) / total
        candidates.append(Candidate(cause, prior, effect, fit, _factor(bearings.values()), bearings))
    weights = [each.prior * each.fit * each.said for each in candidates]
    best, weight = max((each.fit for each in candidates), default=1.0), math.fsum(weights) or 1.0
    shared = [
        Candidate(**{**vars(each), "fit": each.fit / best, "share": one / weight})
        for each, one in zip(candidates, weights, strict=True)
    ]
    ranked = tuple(sorted(shared, key=lambda each: -each.share))
    return Diagnosis(number, known, facts, ranked, excluded)


def _noise(known: Known) -> float:
    """Return the standard deviation between seeds; none for an encoder that is not trained."""
    if known.kind in ("released", "untrained"):
        return 0.0
    return max((spread.sd for spread in known.spreads), default=USUAL_SD / math.sqrt(known.averaged))


def _is_spread(cause: Cause, known: Known) -> bool:
    """Return whether a cause is the spread itself: known seeds and reruns then state its effect."""
    return "seed" in cause.facts and bool(known.spreads)


def _effect(cause: Cause, known: Known, measured: Sequence[Measured]) -> Effect:
    printed = known.reported.number if known.reported else None
    if _is_spread(cause, known) and printed:
        widest: Spread = max(known.spreads, key=lambda spread: spread.n)
        sd = max(spread.sd for spread in known.spreads)
        counted = [f"{spread.n} seeds" for spread in known.seeds] + [f"{len(known.reruns)} reruns"] * bool(
            known.labs
        )
        rests = ", ".join(counted)
        return Effect(widest.mean - printed.value, math.hypot(sd, widest.error), widest.n - 1, rests)
    by_encoder: dict[str, list[float]] = {}
    for each in measured:
        if each.cause == cause.id:
            by_encoder.setdefault(each.encoder, []).append(each.effect)
    signs = (1, -1) if cause.either_way else (1,)
    threads, encoders = (
        [[sign * value for value in group for sign in signs] for group in groups.values()]
        for groups in (cause.by_thread, by_encoder)
    )
    return effect_of(threads, encoders)


def _tells_of(measured: Measured, known: Known, facts: Mapping[str, Any]) -> bool:
    """Return whether an effect is of the suite of a number and of an encoder that is fine-tuned too, or not either."""
    suite, kind = known.metric_path.partition("/")[0], facts.get("encoder-is", known.kind)
    same = not kind or (kind == "untrained") == (measured.kind == "untrained")
    return same and suite in ("", measured.metric.partition("/")[0])


def _bearings(cause: Cause, known: Known, facts: Mapping[str, Any]) -> dict[str, Bearing]:
    """Return how each fact that bears on a cause compares with the paper's setting, where that is known."""
    bearings: dict[str, Bearing] = {}
    for name in cause.facts:
        if name in facts and (theirs := known.settings.get(name)) is not None:
            bearings[name] = "agrees" if facts[name] == theirs else "differs"
    model = f"{known.model} {facts.get('model', '')}".lower()
    if any(part in model for part in cause.models):
        bearings["model"] = "differs"
    suite = known.metric_path.partition("/")[0]
    if suite and suite in cause.metrics:
        bearings["metric"] = "differs"
    return bearings


def _factor(bearings: Iterable[Bearing]) -> float:
    """Return what the facts multiply a cause by: one that differs is enough, whatever agrees next to it."""
    every = list(bearings)
    return DIFFERS if "differs" in every else AGREES if every else 1.0
