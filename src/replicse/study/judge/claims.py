"""Claims: sentences that a paper states as results, as relations between cells, judged in print and on paired seeds."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import write_rows
from replicse.study.judge.relations import STRICT, Relation, Side
from replicse.study.paper.cell_names import ROWS, CellNames
from replicse.study.paper.papers import Reported
from replicse.study.paper.validation import check, read_yaml
from replicse.study.plan.counterparts import cell_key, counterparts, described
from replicse.study.plan.plan import Cell, Plan
from replicse.study.results.statistics import mean_and_spread
from replicse.study.results.tabulate import Evaluations
from replicse.study.results.verdict import printed_number

SURE = 0.95
NAMED = 3  # cells that a reason names before it only counts them
FIELDS = [
    "claim",
    "text",
    "place",
    "cells",
    "reported",
    "reproduction",
    "ours",
    "probability",
    "n_seeds",
    "reason",
]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the relations it comes to, all of which must hold."""

    paper: str
    id: str
    text: str
    place: str
    relations: tuple[Relation, ...]
    note: str = ""
    file: Path = Path()

    @property
    def name(self) -> str:
        """Return `paper/id`."""
        return f"{self.paper}/{self.id}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the names of all cells, each once, in order."""
        return tuple(dict.fromkeys(cell for relation in self.relations for cell in relation.cells))

    def parts(self) -> tuple[Relation, ...]:
        """Return the relations between single cells that the claim consists of."""
        return tuple(part for relation in self.relations for part in relation.pairs())


def load_claims(file: Path, schemas: Path) -> tuple[Claim, ...]:
    """Return the claims of `papers/<paper>/claims.yaml`, names as written; none where there is no such file."""
    if not file.exists():
        return ()
    document = read_yaml(file)
    check(document, schemas / "claims.schema.json", file)
    claims = tuple(
        Claim(
            paper=file.parent.name,
            id=entry["id"],
            text=entry["text"],
            place=entry["place"],
            relations=tuple(_relations(entry["relations"])),
            note=entry.get("note", ""),
            file=file,
        )
        for entry in document
    )
    ids = [claim.id for claim in claims]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice:
        raise BadInput(f'{file}: claim "{twice}" is given twice; ids must differ')
    return claims


def _relations(entries: Sequence[Mapping[str, Any]]) -> Iterator[Relation]:
    for entry in entries:
        for word in entry.get("over", [""]):
            yield Relation(
                left=_side(entry["left"], word),
                op=entry["op"],
                right=_side(entry["right"], word),
                margin=float(entry.get("margin", 0)),
            )


def _side(entry: Any, word: str) -> Side:
    """Return a side as written; `{}` in a name stands for one word of the relation's `over`."""
    if isinstance(entry, int | float):
        return Side("number", number=float(entry))
    if isinstance(entry, str | list):
        form, names = "each", [entry] if isinstance(entry, str) else entry
    else:
        ((form, names),) = entry.items()
        if form == "pareto":
            names = [
                f"{names['item']}/*/{names['column']}/{metric}" for metric in ("alignment", "uniformity")
            ]
    return Side(form, tuple(name.replace("{}", word) for name in names))


# Names


def resolved(claim: Claim, names: CellNames) -> Claim:
    """Return the claim with full names and with `*` replaced by rows; BadInput names an unknown cell."""
    return replace(claim, relations=tuple(_resolved(claim, relation, names) for relation in claim.relations))


def _resolved(claim: Claim, relation: Relation, names: CellNames) -> Relation:
    where = f"{claim.file}: claim {claim.id}"
    found = {name: names.found(name, claim.paper, where) for name in relation.cells}
    # Rows that the relation names itself are not meant by its `*`.
    named = {full for name, entry in found.items() if ROWS not in name for full in entry}

    def side(old: Side) -> Side:
        lists = [
            [full for full in found[name] if ROWS not in name or full not in named] for name in old.cells
        ]
        if old.form == "pareto":
            lists = _same_rows(lists, names)
        if old.cells and not all(lists):
            raise BadInput(f'{where}: "{old.cells[0]}" leaves no row to compare')
        return replace(old, cells=tuple(full for entry in lists for full in entry))

    return replace(relation, left=side(relation.left), right=side(relation.right))


def _same_rows(lists: Sequence[Sequence[str]], names: CellNames) -> list[list[str]]:
    """Return the cells of those rows that every list has."""
    rows = [{names.key(full)[1] for full in entry} for entry in lists]
    return [[full for full in entry if names.key(full)[1] in set.intersection(*rows)] for entry in lists]


# Judging


@dataclass(frozen=True)
class Reading:
    """What stands in a cell: a value per seed, None where it is missing, all cells in one order of seeds.

    A lone value stands beside every seed of the others. `seedless` says that it is no draw of a seed (a printed
    number, a baseline); `half_digit` is half a unit of its last printed digit.
    """

    values: tuple[float | None, ...] = ()
    seedless: bool = False
    half_digit: float = 0.0

    @property
    def missing(self) -> bool:
        """Return whether a value is not there or not finite."""
        return not self.values or any(value is None or not math.isfinite(value) for value in self.values)


@dataclass(frozen=True)
class ClaimOutcome:
    """What the numbers say of a claim: supported, contradicted, undetermined, not comparable or not run.

    `probability` is that of the weakest part, None where a part has none; `n_seeds` the fewest paired seeds of a
    part that has seeds, else 0; `decided_by` holds the cells of the part that decides.
    """

    outcome: str
    probability: float | None
    n_seeds: int
    reason: str
    decided_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Part:
    """One judged relation of two sides; `doubt` says why there is no probability."""

    relation: Relation
    shown: str
    slack: float = 0.0
    probability: float | None = None
    n_seeds: int = 0
    doubt: str = ""
    missing: tuple[str, ...] = ()


def judge_claim(claim: Claim, values: Callable[[str], Reading]) -> ClaimOutcome:
    """Judge a claim, whose names are resolved, on what `values` returns for a cell.

    An intersection-union test: the claim is as probable as its weakest part. A part that is contradicted decides
    even where others are missing; support asks for all of them. Not run: no part can be judged.
    """
    parts = [_judged(relation, values) for relation in claim.parts()]
    judged = [part for part in parts if not part.missing]
    known = [part for part in judged if part.probability is not None]
    weakest = min(known, key=lambda part: (part.probability, part.slack), default=None)
    n_seeds = min((part.n_seeds for part in judged if part.n_seeds), default=0)
    if weakest is not None and weakest.probability <= 1 - SURE:
        failing = sum(part.probability <= 1 - SURE for part in known)
        reason = f"{failing} of {_counting(parts)} fail{'s' if failing == 1 else ''}: {weakest.shown}"
        return ClaimOutcome("contradicted", weakest.probability, n_seeds, reason, weakest.relation.cells)
    if not judged:
        return ClaimOutcome("not run", None, 0, _missing(parts))
    if len(known) < len(parts):
        return _undecided(parts, n_seeds)
    outcome = "supported" if weakest.probability >= SURE else "undetermined"
    reason = f"the closest of {_counting(parts)}: {weakest.shown}"
    return ClaimOutcome(outcome, weakest.probability, n_seeds, reason, weakest.relation.cells)


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
    names = list(dict.fromkeys(name for part in parts for name in part.missing))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"missing: {', '.join(names[:NAMED])}{more}"


def _judged(relation: Relation, values: Callable[[str], Reading]) -> _Part:
    readings = {name: values(name) for name in relation.cells}
    missing = tuple(name for name, reading in readings.items() if reading.missing)
    if missing:
        return _Part(relation, str(relation), missing=missing)
    sizes = {len(reading.values) for reading in readings.values()} - {1}
    if len(sizes) > 1:
        raise ValueError(f"{relation}: cells of {sorted(sizes)} seeds cannot be paired")
    seeds = max(sizes, default=1)
    left, right = (
        [_at(side, readings, seed) for seed in range(seeds)] for side in (relation.left, relation.right)
    )
    slacks = [relation.slack(*pair) for pair in zip(left, right, strict=True)]
    slack = mean_and_spread(slacks)[0]
    shown = f"{relation} ({_shown(relation.left, left)}{_shown(relation.right, right, ' and ')})"
    part = _Part(relation, shown, slack)
    if math.isnan(slack):
        return replace(part, doubt="a share of nothing")
    if all(reading.seedless for reading in readings.values()):
        half = sum(_half_digit(side, readings) for side in (relation.left, relation.right))
        tied = slack == 0 and relation.op not in STRICT
        if abs(slack) < round(half, 10) and not tied:
            return replace(part, doubt="within rounding")
        return replace(part, probability=_certain(slack, relation.op))
    if seeds == 1:
        return replace(part, n_seeds=1, doubt=f"one seed, where it {_pointing(slack, relation.op)}")
    probability = _probability(slacks, relation.op)
    return replace(part, probability=probability, n_seeds=seeds, shown=f"{shown}, p = {probability:.3f}")


def _at(side: Side, readings: Mapping[str, Reading], seed: int) -> float:
    """Return a side's number under one seed; a lone value stands beside every seed."""
    values = [readings[name].values for name in side.cells]
    return side.value([entry[0] if len(entry) == 1 else entry[seed] for entry in values])


def _half_digit(side: Side, readings: Mapping[str, Reading]) -> float:
    found = [readings[name] for name in side.cells]
    return side.half_digit(
        [reading.values[0] for reading in found], [reading.half_digit for reading in found]
    )


def _shown(side: Side, values: Sequence[float], before: str = "") -> str:
    return "" if side.form == "number" else f"{before}{mean_and_spread(values)[0]:.6g}"


def _certain(slack: float, op: str) -> float:
    """Return 1 or 0 where nothing is random; a tie satisfies >=, <= and within, and leaves > and < open."""
    if slack == 0:
        return 0.5 if op in STRICT else 1.0
    return float(slack > 0)


def _pointing(slack: float, op: str) -> str:
    return {1.0: "holds", 0.5: "is a tie", 0.0: "fails"}[_certain(slack, op)]


def _probability(slacks: Sequence[float], op: str) -> float:
    """Return Student's t probability that the mean slack over paired seeds is positive."""
    mean, spread = mean_and_spread(slacks)
    if not spread:
        return _certain(mean, op)
    from scipy.special import stdtr

    return float(stdtr(len(slacks) - 1, mean * math.sqrt(len(slacks)) / spread))


# A study's claims


def study_claims(plan: Plan) -> list[Claim]:
    """Return the claims of every paper in the study, names resolved."""
    names = CellNames(plan.papers)
    return [resolved(claim, names) for key in plan.study.papers for claim in _claims_of(plan, key)]


def _claims_of(plan: Plan, key: str) -> tuple[Claim, ...]:
    return load_claims(plan.papers[key].folder / "claims.yaml", plan.study.workflow / "schemas")


def contradicted_in_print(plan: Plan) -> list[tuple[Claim, ClaimOutcome]]:
    """Return the claims that the papers' own printed numbers contradict."""
    printed = _Printed(CellNames(plan.papers))
    judged = [(claim, judge_claim(claim, printed)) for claim in study_claims(plan)]
    return [(claim, outcome) for claim, outcome in judged if outcome.outcome == "contradicted"]


def claim_rows(plan: Plan, evaluations: Evaluations) -> list[dict[str, str]]:
    """Return a row of text per claim: its outcome in print, in the reproduction study's numbers and in ours."""
    names = CellNames(plan.papers)
    printed, counterpart, ours = _Printed(names), _Counterpart(plan, names), _Ours(plan, names, evaluations)
    rows = []
    for claim in study_claims(plan):
        reported = judge_claim(claim, printed)
        reproduction = judge_claim(claim, counterpart) if counterpart.knows(claim) else None
        own = ours.judge(claim)
        views = {"in print": reported, "reproduction study": reproduction, "ours": own}
        rows.append(
            {
                "claim": claim.name,
                "text": claim.text,
                "place": claim.place,
                "cells": "; ".join(claim.cells),
                "reported": _on_paper(reported),
                "reproduction": _on_paper(reproduction) if reproduction else "",
                "ours": own.outcome,
                "probability": "" if own.probability is None else repr(own.probability),
                "n_seeds": str(own.n_seeds),
                "reason": ". ".join(f"{view}: {found.reason}" for view, found in views.items() if found),
            }
        )
    return rows


def _on_paper(outcome: ClaimOutcome) -> str:
    return "not printed" if outcome.outcome == "not run" else outcome.outcome


class _Printed:
    """The numbers of the papers themselves."""

    def __init__(self, names: CellNames) -> None:
        self._names = names

    def __call__(self, name: str) -> Reading:
        return printed_reading(self._names.reported(name))


def printed_reading(reported: Reported | None) -> Reading:
    """Return a printed number as a reading; an absent one is missing."""
    number = printed_number(reported.value) if reported else None
    return Reading((number.value,), True, number.half_digit) if number else Reading()


class _Counterpart:
    """The printed numbers of the study that repeated a paper: its cell in the place of the paper's."""

    def __init__(self, plan: Plan, names: CellNames) -> None:
        self._names = names
        pairs = counterparts(plan.papers).items()
        self._instead = {names.name(other): own for own, other in pairs}
        self._repeating = {own[0].partition("/")[0] for own, _ in pairs}

    def knows(self, claim: Claim) -> bool:
        """Return whether a cell of the claim was repeated, and none is the repeating study's own."""
        own = any(name.partition("/")[0] in self._repeating for name in claim.cells)
        return not own and any(name in self._instead for name in claim.cells)

    def __call__(self, name: str) -> Reading:
        own = self._instead.get(name)
        return printed_reading(self._names.reported(self._names.name(own))) if own else Reading()


class _Ours:
    """Our numbers, and what of a claim they may be asked at the scale of the study."""

    def __init__(self, plan: Plan, names: CellNames, evaluations: Evaluations) -> None:
        self._plan, self._names, self._evaluations = plan, names, evaluations
        self._cells = {cell_key(cell): cell for item in plan.items for cell in described(plan, item)}

    def __call__(self, name: str) -> Reading:
        cell = self._cells.get(self._names.key(name))
        if cell is None or not cell.encoders:
            return printed_reading(self._names.reported(name)) if self._quoted(name) else Reading()
        subtrahend = printed_reading(cell.minus) if cell.column.minus else Reading((0.0,))
        if subtrahend.missing:
            return Reading()
        values = [self._value(encoder, cell) for encoder in cell.encoders]
        return Reading(
            tuple(None if value is None else value - subtrahend.values[0] for value in values),
            seedless=self._seedless(cell),
        )

    def judge(self, claim: Claim) -> ClaimOutcome:
        """Judge what is comparable of a claim; the outcome says so where that is not all of it."""
        scale = self._plan.scale
        parts = claim.parts()
        kept = tuple(part for part in parts if scale.comparable or not self._absolute(part))
        if not kept:
            reason = (
                f"every part holds a printed number or a margin, and {scale.name} is not the paper's setting"
            )
            return ClaimOutcome("not comparable", None, 0, reason)
        found = judge_claim(replace(claim, relations=kept), self)
        if found.outcome == "not run":
            return found
        if not scale.judges_orders:
            reason = f"the {scale.name} scale judges no claim; {found.reason}"
            return replace(found, outcome="not comparable", reason=reason)
        if len(kept) < len(parts) and found.outcome != "contradicted":
            reason = f"{len(parts) - len(kept)} of {len(parts)} parts hold a printed number or a margin; {found.reason}"
            return replace(found, outcome="not comparable", reason=reason)
        return found

    def _value(self, encoder: str, cell: Cell) -> float | None:
        value, failure = self._evaluations.value(encoder, cell.read)
        return None if value is None or failure else float(value)

    def _seedless(self, cell: Cell) -> bool:
        lone = len(cell.encoders) == 1 < len(self._plan.study.seeds)
        return lone or all("run" not in self._plan.encoders[name].source for name in cell.encoders)

    def _quoted(self, name: str) -> bool:
        """Return whether a cell is only ever printed: quoted from elsewhere, or no part of a table or figure."""
        key = self._names.key(name)
        paper, _, item = key[0].partition("/")
        known = self._plan.papers[paper].items.get(item)
        return known is None or next(row.quoted for row in known.rows if row.id == key[1])

    def _absolute(self, part: Relation) -> bool:
        """Return whether a part holds a number of the paper's own setting."""
        numbers = "number" in (part.left.form, part.right.form)
        return (
            numbers or part.margin != 0 or any(self._quoted(name) or self._less(name) for name in part.cells)
        )

    def _less(self, name: str) -> bool:
        cell = self._cells.get(self._names.key(name))
        return cell is not None and cell.column.minus is not None


def write_claims(rows: Sequence[Mapping[str, str]], out: Path) -> None:
    """Write the rows as CSV."""
    write_rows(out, FIELDS, rows)
