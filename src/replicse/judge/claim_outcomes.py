"""What numbers say of one claim: its relations judged in print and on paired seeds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from replicse.judge.multiplicity import count_significant
from replicse.judge.readings import Reading
from replicse.judge.statistics import mean_and_spread, paired, t_below
from replicse.printable import several
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.claims import STRICT, Claim, Relation
from replicse.spec.expression import Expression

SURE = 0.95
BEST = ("supported", "undetermined", "not comparable", "contradicted", "failed", "not run")
ABSENT = ("failed", "not run")
NAMED = 3  # cells that a reason names before it only counts them
SAME_RUN = "both sides are the same run"
Readings = Callable[[str], Reading]


@dataclass(frozen=True)
class ClaimOutcome:
    """What the numbers say of a claim: supported, contradicted, undetermined, not comparable, failed or not run.

    `probability` is that of the weakest part, None where a part has none; `n_seeds` the fewest paired seeds of a
    part that has seeds, else 0; `decided_by` holds the cells of the part that decides. `readings` holds the outcome
    of each reading of the claim, where there are several.
    """

    outcome: str
    probability: float | None
    n_seeds: int
    reason: str
    decided_by: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Part:
    """One judged relation of two sides, with the numbers of both.

    `doubt` says why there is no probability, `missing` why cells have no value.
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
        """Return the relation with its numbers, and with its probability where that is over seeds."""
        (left, *_), (right, *_) = self.relation.left, self.relation.right
        p = f", p = {self.probability:.3f}" if self.n_seeds and self.probability is not None else ""
        return f"{self.relation} ({_shown(left, self.left)}{_shown(right, self.right, ' and ')}){p}"


def judge_claim(claim: Claim, values: Readings) -> ClaimOutcome:
    """Judge a claim, whose names are resolved, on what `values` returns for a cell."""
    return one_of(claim, {name: judge_parts(parts, values) for name, parts in claim.parts().items()})


def one_of(claim: Claim, by_reading: Mapping[str, ClaimOutcome]) -> ClaimOutcome:
    """Return the outcome of a claim from those of its readings: supported where one reading supports all of it.

    It is contradicted where every reading is, and open where one is open. What the claim names and no cell holds
    keeps it from support, not from contradiction.
    """
    if claim.untested:
        by_reading = {name: _in_part(outcome, claim.untested) for name, outcome in by_reading.items()}
    if len(by_reading) == 1:
        return next(iter(by_reading.values()))
    outcomes = {name: outcome.outcome for name, outcome in by_reading.items()}
    most = min(by_reading.values(), key=lambda one: (BEST.index(one.outcome), -(one.probability or 0.0)))
    if most.outcome == "contradicted" and {*ABSENT} & {*outcomes.values()}:
        most = replace(most, outcome="undetermined", probability=None)
    reason = "; ".join(f"in {name}: {outcome.reason}" for name, outcome in by_reading.items())
    return replace(most, reason=reason, readings=outcomes)


def _in_part(outcome: ClaimOutcome, untested: str) -> ClaimOutcome:
    reason = f"not tested: {untested}; {outcome.reason}".removesuffix("; ")
    if outcome.outcome == "supported":
        return replace(outcome, outcome="undetermined", probability=None, reason=reason)
    return replace(outcome, reason=reason) if outcome.outcome != "contradicted" else outcome


def judge_parts(relations: Sequence[Relation], values: Readings) -> ClaimOutcome:
    """Judge relations between single cells, all of which must hold.

    Support is an intersection-union test: every part is tested at its own level, so the weakest one decides; that all
    hold together is less probable than that it does. A part that fails after Holm decides even where others are
    missing. Not run: none can be judged; failed: and a cell failed.
    """
    read = cache(values)  # a cell is in many relations
    parts = [_judged(relation, read) for relation in relations]
    judged = [part for part in parts if not part.missing]
    tested = [(part.probability, part) for part in judged if part.probability is not None]
    n_seeds = min((part.n_seeds for part in judged if part.n_seeds), default=0)
    if not judged:
        failed = any(failure for part in parts for failure in part.missing.values())
        return ClaimOutcome("failed" if failed else "not run", None, 0, _missing(parts) if parts else "")
    if not tested:
        return _undecided(parts, n_seeds)
    probability, weakest = min(tested, key=lambda each: (each[0], each[1].slack))
    if failing := count_significant([each for each, _ in tested], 1 - SURE):
        reason = (
            f"{failing} of {several(len(parts), 'part')} fail{'s' if failing == 1 else ''}: {weakest.shown}"
        )
        return ClaimOutcome("contradicted", probability, n_seeds, reason, weakest.relation.cells)
    if len(tested) < len(parts):
        return _undecided(parts, n_seeds)
    outcome = "supported" if probability >= SURE else "undetermined"
    reason = f"the closest of {several(len(parts), 'part')}: {weakest.shown}"
    if probability <= 1 - SURE:
        reason += f", which may be chance among {several(len(parts), 'part')} (Holm)"
    return ClaimOutcome(outcome, probability, n_seeds, reason, weakest.relation.cells)


def _undecided(parts: Sequence[_Part], n_seeds: int) -> ClaimOutcome:
    """Return the outcome of a claim that nothing contradicts, but of which not every part has a probability."""
    doubtful = [part for part in parts if part.doubt]
    doubts = [_missing(parts)] if any(part.missing for part in parts) else []
    decided_by: tuple[str, ...] = ()
    if doubtful:
        least = min(doubtful, key=lambda part: part.slack)
        decided_by = least.relation.cells
        doubts.append(f"{least.doubt}: {least.shown}")
    return ClaimOutcome("undetermined", None, n_seeds, "; ".join(doubts), decided_by)


def _missing(parts: Sequence[_Part]) -> str:
    failures = {name: failure for part in parts for name, failure in part.missing.items()}
    names = [f"{name} ({failure})" if failure else name for name, failure in failures.items()]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"missing: {', '.join(names[:NAMED])}{more}"


def _judged(relation: Relation, values: Readings) -> _Part:
    readings = {name: values(name) for name in relation.cells}
    missing = {name: reading.failure for name, reading in readings.items() if reading.missing}
    if missing:
        return _Part(relation, missing=missing)
    columns = paired([reading.values for reading in readings.values()], relation)
    by_seed = [dict(zip(readings, numbers, strict=True)) for numbers in zip(*columns, strict=True)]
    left, right = zip(*(relation.numbers(numbers) for numbers in by_seed), strict=True)
    slacks = [relation.slack(*pair) for pair in zip(left, right, strict=True)]
    slack = mean_and_spread(slacks)[0]
    part = _Part(relation, left, right, slack)
    if math.isnan(slack):
        return replace(part, doubt="undefined share: the denominator is zero")
    seedless = all(reading.seedless for reading in readings.values())
    seeds = 0 if seedless else len(slacks)
    if any(reading.runs for reading in readings.values()) and _same_run(relation, readings):
        return replace(part, n_seeds=seeds, doubt=SAME_RUN)
    if seedless:
        printed = by_seed[0]
        halves = {name: reading.half_digit for name, reading in readings.items()}
        half = max(side.rounding_error(printed, halves) for side in relation.left)
        half += relation.right[0].rounding_error(printed, halves)
        tied = slack == 0 and relation.op not in STRICT
        if abs(slack) < round(half, 10) and not tied:
            return replace(part, doubt="within rounding")
        return replace(part, probability=_certain(slack, relation.op))
    if seeds < FEWEST_SEEDS:
        return replace(part, n_seeds=seeds, doubt=_pointing(slacks, relation.op))
    return replace(part, probability=_probability(slacks, relation.op), n_seeds=seeds)


def _same_run(relation: Relation, readings: Mapping[str, Reading]) -> bool:
    """Return whether what is compared is one number read twice: rows that a scale merges say nothing of each other."""
    sides = [[name for side in each for name in side.names] for each in (relation.left, relation.right)]
    compared = [sides, *(pair for side in (*relation.left, *relation.right) for pair in side.operands())]
    runs = [[sorted(readings[name].runs for name in names) for names in pair] for pair in compared]
    return any(one == other and one and all(one) for one, other in runs)


def _shown(side: Expression, values: Sequence[float], before: str = "") -> str:
    """Return a side's mean over seeds; too few seeds for an interval are shown themselves."""
    if not side.names:
        return ""
    if len(values) < FEWEST_SEEDS and len(set(values)) > 1:
        return f"{before}{{{', '.join(f'{value:.6g}' for value in values)}}}"
    return f"{before}{mean_and_spread(values)[0]:.6g}"


def _certain(slack: float, op: str) -> float:
    """Return 1 or 0 where nothing is random; a tie satisfies >=, <= and within, and leaves > and < open."""
    if slack == 0:
        return 0.5 if op in STRICT else 1.0
    return float(slack > 0)


def _pointing(slacks: Sequence[float], op: str) -> str:
    """Return what too few seeds for a probability show: one by one, for together they are no more certain."""
    words = [{1.0: "holds", 0.5: "is a tie", 0.0: "fails"}[_certain(slack, op)] for slack in slacks]
    if len(words) == 1:
        return f"one seed, where it {words[0]}"
    if len(set(words)) == 1:
        return f"two seeds, where it {words[0]} in both"
    return f"two seeds, where it {words[0]} in one and {words[1]} in the other"


def _probability(slacks: Sequence[float], op: str) -> float:
    """Return Student's t probability that the mean slack over paired seeds is positive."""
    mean, spread = mean_and_spread(slacks)
    if not spread:
        return _certain(mean, op)
    return t_below(mean * math.sqrt(len(slacks)) / spread, len(slacks) - 1)
