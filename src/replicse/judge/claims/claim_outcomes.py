"""Judgement of a claim on printed numbers or on paired seeds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain

from replicse.judge.statistics.intervals import mean_and_spread, pair_by_seed, t_below
from replicse.judge.statistics.multiplicity import count_significant
from replicse.judge.values.readings import Reading
from replicse.printable import several
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.claims import STRICT, Claim, Relation
from replicse.spec.expression import Expression

SURE = 0.95
BEST = ("supported", "undetermined", "not comparable", "contradicted", "failed", "not run")
ABSENT = ("failed", "not run")
NAMED = 3  # a reason names at most this many cells
SAME_RUN = "both sides are the same run"
Readings = Callable[[str], Reading]


@dataclass(frozen=True)
class ClaimOutcome:
    """The outcome of a claim.

    Attributes:
        outcome: supported, contradicted, undetermined, not comparable, failed or not run.
        probability: the probability of the weakest part; None if a part has no probability.
        n_seeds: the fewest paired seeds among parts with seeds; 0 if no part has seeds.
        reason: a sentence.
        decided_by: the cells of the part that decides.
        readings: dict from reading to outcome, if the claim has several readings.
    """

    outcome: str
    probability: float | None
    n_seeds: int
    reason: str
    decided_by: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Part:
    """A judged relation between two sides, with the numbers of both.

    The defaults are for a relation with missing cells.

    Attributes:
        doubt: why the relation has no probability.
        missing: dict from each cell without a value to the reason.
    """

    relation: Relation
    left: Sequence[float] = ()
    right: Sequence[float] = ()
    slack: float = 0.0
    probability: float | None = None
    n_seeds: int = 0
    doubt: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Return the relation with numbers and the probability over seeds."""
        (left, *_), (right, *_) = self.relation.left, self.relation.right
        p = ""
        if self.n_seeds and self.probability is not None:
            p = f", p = {self.probability:.3f}"
        return (
            f"{self.relation} ({_format_side(left, self.left)}{_format_side(right, self.right, ' and ')}){p}"
        )


def judge_claim(claim: Claim, values: Readings) -> ClaimOutcome:
    """Judge a claim.

    Args:
        claim: the claim, with resolved names.
        values: a function that returns the reading of a cell.
    """
    outcomes = {name: judge_parts(parts, values) for name, parts in claim.parts().items()}
    return combine_readings(claim, outcomes)


def combine_readings(claim: Claim, by_reading: Mapping[str, ClaimOutcome]) -> ClaimOutcome:
    """Combine the outcomes of the readings of a claim.

    A claim is supported if at least one reading supports all of it, contradicted if every reading is contradicted, and
    undetermined otherwise. If no cell tests a part of the claim, the claim can be contradicted but not supported.

    Args:
        claim: the claim.
        by_reading: dict from reading to outcome.
    """
    if claim.untested:
        by_reading = {name: _mark_untested(outcome, claim.untested) for name, outcome in by_reading.items()}
    if len(by_reading) == 1:
        return next(iter(by_reading.values()))
    outcomes = {name: outcome.outcome for name, outcome in by_reading.items()}
    most = min(by_reading.values(), key=lambda one: (BEST.index(one.outcome), -(one.probability or 0.0)))
    if most.outcome == "contradicted" and not set(outcomes.values()).isdisjoint(ABSENT):
        most = replace(most, outcome="undetermined", probability=None)
    reason = "; ".join(f"in {name}: {outcome.reason}" for name, outcome in by_reading.items())
    return replace(most, reason=reason, readings=outcomes)


def _mark_untested(outcome: ClaimOutcome, untested: str) -> ClaimOutcome:
    """Return the outcome of a claim if a part is not tested."""
    if outcome.outcome == "contradicted":
        return outcome
    reason = f"not tested: {untested}; {outcome.reason}".removesuffix("; ")
    if outcome.outcome == "supported":
        return replace(outcome, outcome="undetermined", probability=None, reason=reason)
    return replace(outcome, reason=reason)


def judge_parts(relations: Sequence[Relation], values: Readings) -> ClaimOutcome:
    """Judge the relations of a claim, which is supported if all of them hold.

    Support is an intersection-union test: parts are tested without correction, so the weakest part decides. If a part
    fails after Holm's correction, the claim is contradicted even if other parts are missing. If no part can be judged,
    the claim is failed if a cell failed, and not run otherwise.

    Args:
        relations: list of relations between single cells.
        values: a function that returns the reading of a cell.
    """
    read = cache(values)  # many relations use the same cell
    parts = [_judge_relation(relation, read) for relation in relations]
    judged = [part for part in parts if not part.missing]
    if not judged:
        return _not_judged(parts)
    n_seeds = min((part.n_seeds for part in judged if part.n_seeds), default=0)
    tested, probabilities = [], []
    for part in judged:
        if part.probability is not None:
            tested.append((part.probability, part))
            probabilities.append(part.probability)
    if not tested:
        return _undecided(parts, n_seeds)
    probability, weakest = min(tested, key=lambda each: (each[0], each[1].slack))
    count = several(len(parts), "part")
    failing = count_significant(probabilities, 1 - SURE)
    if failing:
        verb = "fails" if failing == 1 else "fail"
        reason = f"{failing} of {count} {verb}: {weakest.shown}"
        return ClaimOutcome("contradicted", probability, n_seeds, reason, weakest.relation.cells)
    if len(tested) < len(parts):
        return _undecided(parts, n_seeds)
    outcome = "supported" if probability >= SURE else "undetermined"
    reason = f"the closest of {count}: {weakest.shown}"
    if probability <= 1 - SURE:
        reason += f", which may be chance among {count} (Holm)"
    return ClaimOutcome(outcome, probability, n_seeds, reason, weakest.relation.cells)


def _not_judged(parts: Sequence[_Part]) -> ClaimOutcome:
    """Return the outcome of a claim if no part can be judged."""
    if not parts:
        return ClaimOutcome("not run", None, 0, "")
    has_failure = any(any(part.missing.values()) for part in parts)
    return ClaimOutcome("failed" if has_failure else "not run", None, 0, _describe_missing(parts))


def _undecided(parts: Sequence[_Part], n_seeds: int) -> ClaimOutcome:
    """Return the outcome of a claim if a part has no probability."""
    doubtful = [part for part in parts if part.doubt]
    reasons = []
    if any(part.missing for part in parts):
        reasons.append(_describe_missing(parts))
    decided_by: tuple[str, ...] = ()
    if doubtful:
        least = min(doubtful, key=lambda part: part.slack)
        decided_by = least.relation.cells
        reasons.append(f"{least.doubt}: {least.shown}")
    return ClaimOutcome("undetermined", None, n_seeds, "; ".join(reasons), decided_by)


def _describe_missing(parts: Sequence[_Part]) -> str:
    failures: dict[str, str] = {}
    for part in parts:
        failures |= part.missing
    names = []
    for name, failure in list(failures.items())[:NAMED]:
        if failure:
            name = f"{name} ({failure})"
        names.append(name)
    described = f"missing: {', '.join(names)}"
    if len(failures) > NAMED:
        described += f" and {len(failures) - NAMED} more"
    return described


def _judge_relation(relation: Relation, values: Readings) -> _Part:
    readings, missing = {}, {}
    for name in relation.cells:
        readings[name] = values(name)
        if readings[name].missing:
            missing[name] = readings[name].failure
    if missing:
        return _Part(relation, missing=missing)
    columns = pair_by_seed([reading.values for reading in readings.values()], relation)
    by_seed = []
    for numbers in zip(*columns, strict=True):
        by_seed.append(dict(zip(readings, numbers, strict=True)))
    left, right = zip(*map(relation.numbers, by_seed), strict=True)
    slacks = [relation.slack(*pair) for pair in zip(left, right, strict=True)]
    slack = mean_and_spread(slacks)[0]
    part = _Part(relation, left, right, slack)
    if math.isnan(slack):
        return replace(part, doubt="undefined share: the denominator is zero")
    is_seedless = all(reading.seedless for reading in readings.values())
    seeds = 0 if is_seedless else len(slacks)
    if any(reading.runs for reading in readings.values()) and _is_same_run(relation, readings):
        return replace(part, n_seeds=seeds, doubt=SAME_RUN)
    if is_seedless:
        if _is_within_rounding(relation, readings, by_seed[0], slack):
            return replace(part, doubt="within rounding")
        return replace(part, probability=_exact_probability(slack, relation.op))
    if seeds < FEWEST_SEEDS:
        return replace(part, n_seeds=seeds, doubt=_describe_few_seeds(slacks, relation.op))
    return replace(part, probability=_probability(slacks, relation.op), n_seeds=seeds)


def _is_within_rounding(
    relation: Relation, readings: Mapping[str, Reading], numbers: Mapping[str, float], slack: float
) -> bool:
    """Return whether rounding of the numbers can decide a relation.

    A tie satisfies a relation with equality.
    """
    if slack == 0 and relation.op not in STRICT:
        return False
    halves = {name: reading.half_digit for name, reading in readings.items()}
    half = max(side.rounding_error(numbers, halves) for side in relation.left)
    half += relation.right[0].rounding_error(numbers, halves)
    return abs(slack) < round(half, 10)


def _is_same_run(relation: Relation, readings: Mapping[str, Reading]) -> bool:
    """Return whether both sides of a comparison are the same number.

    A scale may merge rows, and comparing merged rows tests nothing.
    """
    expressions = (*relation.left, *relation.right)
    compared = [(_names(relation.left), _names(relation.right))]
    for side in expressions:
        compared += side.operands()
    for one, other in compared:
        runs = sorted(readings[name].runs for name in one)
        if runs and all(runs) and runs == sorted(readings[name].runs for name in other):
            return True
    return False


def _names(sides: Sequence[Expression]) -> list[str]:
    return list(chain.from_iterable(side.names for side in sides))


def _format_side(side: Expression, values: Sequence[float], before: str = "") -> str:
    """Format the mean over seeds of a side.

    If there are too few seeds for an interval, all values are shown.
    """
    if not side.names:
        return ""
    if len(values) < FEWEST_SEEDS and len(set(values)) > 1:
        numbers = ", ".join(f"{value:.6g}" for value in values)
        return f"{before}{{{numbers}}}"
    return f"{before}{mean_and_spread(values)[0]:.6g}"


def _exact_probability(slack: float, op: str) -> float:
    """Return 1 or 0 for numbers without randomness.

    A tie satisfies >=, <= and within. For > and <, it returns 0.5.
    """
    if slack == 0:
        return 0.5 if op in STRICT else 1.0
    return float(slack > 0)


def _describe_few_seeds(slacks: Sequence[float], op: str) -> str:
    """Describe whether a relation is satisfied in each of one or two seeds."""
    verbs = {1.0: "holds", 0.5: "is a tie", 0.0: "fails"}
    words = [verbs[_exact_probability(slack, op)] for slack in slacks]
    if len(words) == 1:
        return f"one seed, where it {words[0]}"
    if len(set(words)) == 1:
        return f"two seeds, where it {words[0]} in both"
    return f"two seeds, where it {words[0]} in one and {words[1]} in the other"


def _probability(slacks: Sequence[float], op: str) -> float:
    """Compute the probability that the mean slack over seeds is positive.

    This uses Student's t.
    """
    mean, spread = mean_and_spread(slacks)
    if not spread:
        return _exact_probability(mean, op)
    return t_below(mean * math.sqrt(len(slacks)) / spread, len(slacks) - 1)
