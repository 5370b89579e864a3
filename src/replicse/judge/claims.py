"""Claims: sentences that a paper states as results, as relations between cells, judged in print and on paired seeds."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from replicse.compile.study import Study
from replicse.judge.judgements import JudgedClaim
from replicse.judge.readings import OurCells, Reading, printed_reading
from replicse.judge.statistics import mean_and_spread, paired
from replicse.judge.table import ItemResult
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.claim_cells import resolved
from replicse.spec.claims import STRICT, Claim, Relation, contradictions
from replicse.spec.counterparts import counterparts
from replicse.spec.expression import Expression
from replicse.spec.papers import Paper

SURE = 0.95
BEST = ("supported", "undetermined", "not comparable", "contradicted", "failed", "not run")
ABSENT = ("failed", "not run")
NAMED = 3  # cells that a reason names before it only counts them
# What a smaller scale shows is no verdict on the paper.
SMALLER = {"supported": "for", "contradicted": "against"}
SAME_RUN = "both sides are the same run"
Readings = Callable[[str], Reading]


# Judging


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
    """One judged relation of two sides; `doubt` says why there is no probability, `missing` why cells have no value."""

    relation: Relation
    shown: str
    slack: float = 0.0
    probability: float | None = None
    n_seeds: int = 0
    doubt: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)


def judge_claim(claim: Claim, values: Readings) -> ClaimOutcome:
    """Judge a claim, whose names are resolved, on what `values` returns for a cell."""
    return _one_of(claim, {name: judge_parts(parts, values) for name, parts in claim.parts().items()})


def _one_of(claim: Claim, by_reading: Mapping[str, ClaimOutcome]) -> ClaimOutcome:
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
    parts = [_judged(relation, values) for relation in relations]
    judged = [part for part in parts if not part.missing]
    tested = [(part.probability, part) for part in judged if part.probability is not None]
    n_seeds = min((part.n_seeds for part in judged if part.n_seeds), default=0)
    if not judged:
        failed = any(failure for part in parts for failure in part.missing.values())
        return ClaimOutcome("failed" if failed else "not run", None, 0, _missing(parts) if parts else "")
    if not tested:
        return _undecided(parts, n_seeds)
    probability, weakest = min(tested, key=lambda each: (each[0], each[1].slack))
    if failing := _failing([each for each, _ in tested]):
        reason = f"{failing} of {_counting(parts)} fail{'s' if failing == 1 else ''}: {weakest.shown}"
        return ClaimOutcome("contradicted", probability, n_seeds, reason, weakest.relation.cells)
    if len(tested) < len(parts):
        return _undecided(parts, n_seeds)
    outcome = "supported" if probability >= SURE else "undetermined"
    reason = f"the closest of {_counting(parts)}: {weakest.shown}"
    if probability <= 1 - SURE:
        reason += f", which may be chance among {_counting(parts)} (Holm)"
    return ClaimOutcome(outcome, probability, n_seeds, reason, weakest.relation.cells)


def _failing(probabilities: Sequence[float]) -> int:
    """Return how many parts fail after Holm: the smallest of m probabilities is held to 0.05 / m, then of m - 1."""
    count = len(probabilities)
    for place, probability in enumerate(sorted(probabilities)):
        if probability > (1 - SURE) / (count - place) * (1 + 1e-12):
            return place
    return count


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


def _counting(parts: Sequence[_Part]) -> str:
    return f"{len(parts)} part{'s' if len(parts) > 1 else ''}"


def _missing(parts: Sequence[_Part]) -> str:
    failures = {name: failure for part in parts for name, failure in part.missing.items()}
    names = [f"{name} ({failure})" if failure else name for name, failure in failures.items()]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"missing: {', '.join(names[:NAMED])}{more}"


def _judged(relation: Relation, values: Readings) -> _Part:
    readings = {name: values(name) for name in relation.cells}
    missing = {name: reading.failure for name, reading in readings.items() if reading.missing}
    if missing:
        return _Part(relation, str(relation), missing=missing)
    columns = paired([reading.values for reading in readings.values()], str(relation))
    by_seed = [dict(zip(readings, numbers, strict=True)) for numbers in zip(*columns, strict=True)]
    left, right = zip(*(relation.numbers(numbers) for numbers in by_seed), strict=True)
    slacks = [relation.slack(*pair) for pair in zip(left, right, strict=True)]
    slack = mean_and_spread(slacks)[0]
    shown = f"{relation} ({_shown(relation.left[0], left)}{_shown(relation.right[0], right, ' and ')})"
    part = _Part(relation, shown, slack)
    if math.isnan(slack):
        return replace(part, doubt="undefined share: the denominator is zero")
    seedless = all(reading.seedless for reading in readings.values())
    seeds = 0 if seedless else len(slacks)
    if _same_run(relation, readings):
        return replace(part, n_seeds=seeds, doubt=SAME_RUN)
    if seedless:
        printed = by_seed[0]
        halves = {name: reading.half_digit for name, reading in readings.items()}
        half = max(side.room(printed, halves) for side in relation.left) + relation.right[0].room(
            printed, halves
        )
        tied = slack == 0 and relation.op not in STRICT
        if abs(slack) < round(half, 10) and not tied:
            return replace(part, doubt="within rounding")
        return replace(part, probability=_certain(slack, relation.op))
    if seeds < FEWEST_SEEDS:
        return replace(part, n_seeds=seeds, doubt=_pointing(slacks, relation.op))
    probability = _probability(slacks, relation.op)
    return replace(part, probability=probability, n_seeds=seeds, shown=f"{shown}, p = {probability:.3f}")


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
    from scipy.special import stdtr

    return float(stdtr(len(slacks) - 1, mean * math.sqrt(len(slacks)) / spread))


# A study's claims


def study_claims(papers: Mapping[str, Paper], keys: Iterable[str]) -> list[Claim]:
    """Return the claims of some papers, names resolved over all of them; BadInput for a contradiction of no claim."""
    names = CellNames(papers)
    _contradictions(papers)
    return [resolved(claim, names) for key in keys for claim in papers[key].claims]


def _contradictions(papers: Mapping[str, Paper]) -> dict[str, tuple[str, ...]]:
    return contradictions(claim for paper in papers.values() for claim in paper.claims)


def judged_in_print(claim: Claim, names: CellNames) -> ClaimOutcome:
    """Return what the printed numbers say of a claim, and what else in print says against it."""
    outcome = judge_claim(claim, lambda name: printed_reading(names.reported(name)))
    return replace(outcome, outcome="contradicted", reason=claim.against) if claim.against else outcome


def cells_read(claims: Iterable[Claim], papers: Mapping[str, Paper]) -> set[CellId]:
    """Return the cells that some claims read."""
    names = CellNames(papers)
    return {names.cell(name) for claim in claims for name in claim.cells}


def judged_claims(
    plan: Study, claims: Iterable[Claim], results: Iterable[ItemResult]
) -> Iterator[JudgedClaim]:
    """Yield each claim with its outcome in print, in the reproduction study's numbers and in ours."""
    names = CellNames(plan.papers)
    counterpart = _Counterpart(plan.papers, names)
    numbers = OurNumbers(plan, names, OurCells(results, len(plan.seeds)))
    contradicting = _contradictions(plan.papers)
    for claim in claims:
        reported = judged_in_print(claim, names)
        reproduction = judge_claim(claim, counterpart) if counterpart.knows(claim) else None
        ours = numbers.judge(claim)
        views = {"in print": reported, "reproduction study": reproduction, "ours": ours}
        yield JudgedClaim(
            claim=claim.name,
            text=claim.text,
            place=claim.place,
            cells=tuple(claim.cells),
            reported=_on_paper(reported),
            reproduction=_on_paper(reproduction) if reproduction else "",
            ours=ours.outcome if plan.scale.comparable else SMALLER.get(ours.outcome, ours.outcome),
            ran=numbers.ran(claim),
            probability=ours.probability,
            n_seeds=ours.n_seeds,
            remark=_remark(claim, views),
            contradicts=tuple(contradicting.get(claim.name, ())),
            reason=". ".join(f"{view}: {judged.reason}" for view, judged in views.items() if judged),
        )


def _on_paper(outcome: ClaimOutcome) -> str:
    return "not printed" if outcome.outcome in ABSENT else outcome.outcome


def _remark(claim: Claim, views: Mapping[str, ClaimOutcome | None]) -> str:
    """Return what each reading of a claim came to, where one could be judged, and what of it is not tested."""
    readings = [
        f"{view}: {', '.join(f'{name} {outcome}' for name, outcome in judged.readings.items())}"
        for view, judged in views.items()
        if judged and set(judged.readings.values()) - {*ABSENT}
    ]
    return "; ".join([*readings, *([f"not tested: {claim.untested}"] if claim.untested else [])])


class _Counterpart:
    """The printed numbers of the study that repeated a paper: its cell in the place of the paper's."""

    def __init__(self, papers: Mapping[str, Paper], names: CellNames) -> None:
        self._names = names
        pairs = counterparts(papers).items()
        self._instead = {names.name(other): cell for cell, other in pairs}
        self._repeating = {cell.paper for cell, _ in pairs}

    def knows(self, claim: Claim) -> bool:
        """Return whether a cell of the claim was repeated, and none is the repeating study's own."""
        repeating = any(name.partition("/")[0] in self._repeating for name in claim.cells)
        return not repeating and any(name in self._instead for name in claim.cells)

    def __call__(self, name: str) -> Reading:
        cell = self._instead.get(name)
        return printed_reading(self._names.reported(self._names.name(cell))) if cell else Reading()


class OurNumbers:
    """Our numbers, and what of a claim they may be asked at the scale of the study."""

    def __init__(self, plan: Study, names: CellNames, cells: OurCells) -> None:
        self._plan, self._names, self._cells = plan, names, cells

    def __call__(self, name: str) -> Reading:
        """Return what is read of a cell: ours, or print where it is only ever printed."""
        cell = self._names.cell(name)
        quoted = not self._is_run(cell) and self._quoted(cell)
        return printed_reading(self._names.reported(name)) if quoted else self._cells.reading(cell)

    def ran(self, claim: Claim) -> int:
        """Return of how many of the claim's cells there is a number."""
        return sum(not self(name).missing for name in claim.cells)

    def judge(self, claim: Claim) -> ClaimOutcome:
        """Judge what is comparable of a claim; the outcome says so where that is not all of it."""
        return _one_of(claim, {name: self._judged(parts) for name, parts in claim.parts().items()})

    def _judged(self, parts: Sequence[Relation]) -> ClaimOutcome:
        scale = self._plan.scale
        kept = tuple(part for part in parts if scale.comparable or not self.absolute(part))
        if parts and not kept:
            reason = (
                f"every part holds a printed number or a margin, and {scale.name} is not the paper's setting"
            )
            return ClaimOutcome("not comparable", None, 0, reason)
        ours = judge_parts(kept, self)
        if ours.outcome in ABSENT:
            return ours
        if not scale.judges_orders:
            reason = f"the {scale.name} scale judges no claim; {ours.reason}"
            return replace(ours, outcome="not comparable", reason=reason)
        if len(kept) < len(parts) and ours.outcome != "contradicted":
            reason = f"{len(parts) - len(kept)} of {len(parts)} parts hold a printed number or a margin; {ours.reason}"
            return replace(ours, outcome="not comparable", reason=reason)
        return ours

    def _is_run(self, cell: CellId) -> bool:
        ours = self._cells.cell(cell)
        return ours is not None and bool(ours.encoders)

    def _quoted(self, cell: CellId) -> bool:
        """Return whether a cell is only ever printed: quoted from elsewhere, or no part of a table or figure."""
        table = self._plan.papers[cell.paper].items.get(cell.item_name)
        place = table.place_of(cell) if table else None
        return place is None or place[0].quoted

    def absolute(self, part: Relation) -> bool:
        """Return whether a part holds a number of the paper's own setting; how many rows are ordered so is none."""
        ordinal = part.op != "within" and part.left[0].compares_rows
        if part.margin != 0 or (not all(side.names for side in (*part.left, *part.right)) and not ordinal):
            return True
        cells = [self._names.cell(name) for name in part.cells]
        ours = [cell for cell in map(self._cells.cell, cells) if cell is not None]
        return any(map(self._quoted, cells)) or any(cell.subtracted is not None for cell in ours)
