"""Judgement of claims, which are sentences that papers state as results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Protocol

from replicse.compile.study import Study
from replicse.judge.claims.claim_outcomes import (
    ABSENT,
    ClaimOutcome,
    combine_readings,
    judge_claim,
    judge_parts,
)
from replicse.judge.report.judgements import JudgedClaim
from replicse.judge.values.readings import OurCells, Reading, printed_reading
from replicse.judge.verdicts.table import ItemResult
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.claim_cells import resolve_claim
from replicse.spec.claims import Claim, Relation, contradictions
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import Paper

# Outcomes at a smaller scale have other names, because they are not verdicts on the paper.
SMALLER = {"supported": "for", "contradicted": "against"}


def study_claims(names: CellNames, keys: Iterable[str]) -> list[Claim]:
    """Return the claims of some papers, with names resolved over all papers.

    Args:
        names: the names of cells.
        keys: the keys of the papers.

    Raises:
        BadInput: if a claim contradicts a claim that does not exist.
    """
    _contradictions(names.papers)
    claims: list[Claim] = []
    for key in keys:
        claims += [resolve_claim(claim, names) for claim in names.papers[key].claims]
    return claims


def _contradictions(papers: Mapping[str, Paper]) -> dict[str, tuple[str, ...]]:
    """Return the claims of other papers that each claim contradicts."""
    return contradictions(chain.from_iterable(paper.claims for paper in papers.values()))


def judge_in_print(claim: Claim, names: CellNames) -> ClaimOutcome:
    """Judge a claim on the printed numbers.

    Args:
        claim: the claim. If it has `against`, other printed evidence contradicts it.
        names: the names of cells.
    """
    outcome = judge_claim(claim, lambda name: printed_reading(names.reported(name)))
    if claim.against:
        return replace(outcome, outcome="contradicted", reason=claim.against)
    return outcome


def cells_read(claims: Iterable[Claim], names: CellNames) -> set[CellId]:
    """Return the cells of some claims."""
    return set(map(names.cell, chain.from_iterable(claim.cells for claim in claims)))


class ClaimNumbers(Protocol):
    """Numbers for testing claims.

    `whose` is a word for their source, such as `ours`.
    """

    whose: str

    def judge(self, claim: Claim) -> ClaimOutcome:
        """Return the outcome of a claim."""

    def ran(self, claim: Claim) -> int:
        """Return how many cells of the claim have a number."""


def judge_claims(
    study: Study, claims: Iterable[Claim], results: Iterable[ItemResult], numbers: ClaimNumbers | None = None
) -> Iterator[JudgedClaim]:
    """Judge claims on printed numbers, on a reproduction and on our numbers.

    Args:
        study: the study.
        claims: the claims, with resolved names.
        results: the results of the items, which contain our numbers.
        numbers: the numbers to use instead of our numbers. Default: our numbers.
    """
    names = study.names
    counterpart = _Counterpart(study.papers, names)
    numbers = numbers or OurNumbers(study, names, OurCells(results, len(study.seeds)))
    contradicting = _contradictions(study.papers)
    for claim in claims:
        reported = judge_in_print(claim, names)
        reproduction, repeated = None, ""
        if counterpart.knows(claim):
            reproduction = judge_claim(claim, counterpart)
            repeated = _printed_outcome(reproduction)
        ours = numbers.judge(claim)
        outcome = ours.outcome
        if not study.scale.comparable:
            outcome = SMALLER.get(outcome, outcome)
        views = {"in print": reported, "reproduction study": reproduction, numbers.whose: ours}
        yield JudgedClaim(
            claim=claim.name,
            text=claim.text,
            place=claim.place,
            cells=tuple(claim.cells),
            reported=_printed_outcome(reported),
            reproduction=repeated,
            ours=outcome,
            ran=numbers.ran(claim),
            probability=ours.probability,
            n_seeds=ours.n_seeds,
            remark=_remark(claim, views),
            contradicts=tuple(contradicting.get(claim.name, ())),
            reason=". ".join(f"{view}: {judged.reason}" for view, judged in views.items() if judged),
        )


def _printed_outcome(outcome: ClaimOutcome) -> str:
    return "not printed" if outcome.outcome in ABSENT else outcome.outcome


def _remark(claim: Claim, views: Mapping[str, ClaimOutcome | None]) -> str:
    """Return the outcome of each reading, and the part that is not tested."""
    remarks = []
    for view, judged in views.items():
        if judged and not set(judged.readings.values()).issubset(ABSENT):
            outcomes = ", ".join(f"{name} {outcome}" for name, outcome in judged.readings.items())
            remarks.append(f"{view}: {outcomes}")
    if claim.untested:
        remarks.append(f"not tested: {claim.untested}")
    return "; ".join(remarks)


class _Counterpart:
    """The printed numbers of the study that repeated a paper.

    A cell of the paper is replaced by the same cell of the other study.
    """

    def __init__(self, papers: Mapping[str, Paper], names: CellNames) -> None:
        self._names = names
        self._instead: dict[str, CellId] = {}
        self._repeating: set[str] = set()
        for cell, other in counterparts(papers).items():
            self._instead[names.name(other)] = cell
            self._repeating.add(cell.paper)

    def knows(self, claim: Claim) -> bool:
        """Return whether another study repeated a cell of a claim.

        A claim about the other study is not repeated.
        """
        repeating = any(name.partition("/")[0] in self._repeating for name in claim.cells)
        return not repeating and any(name in self._instead for name in claim.cells)

    def __call__(self, name: str) -> Reading:
        cell = self._instead.get(name)
        if cell is None:
            return Reading()
        return printed_reading(self._names.reported(self._names.name(cell)))


class OurNumbers:
    """Our numbers for testing claims, with the rules of the scale.

    By default, the scale says whether its numbers are comparable.

    Args:
        study: the study.
        names: the names of cells.
        cells: our cells.
        comparable: whether the numbers are in the paper's setting. Default: whether the scale is comparable.
    """

    whose = "ours"

    def __init__(
        self, study: Study, names: CellNames, cells: OurCells, comparable: bool | None = None
    ) -> None:
        self._study, self._names, self._cells = study, names, cells
        self._comparable = study.scale.comparable if comparable is None else comparable

    def __call__(self, name: str) -> Reading:
        """Return our reading of a cell, or the printed number of a quoted cell."""
        cell = self._names.cell(name)
        if not self._is_run(cell) and self._is_quoted(cell):
            return printed_reading(self._names.reported(name))
        return self._cells.reading(cell)

    def ran(self, claim: Claim) -> int:
        """Return how many cells of the claim have a number."""
        return sum(not self(name).missing for name in claim.cells)

    def judge(self, claim: Claim) -> ClaimOutcome:
        """Judge the comparable parts of a claim.

        The outcome is `not comparable` if other parts could change it.
        """
        outcomes = {name: self._judge_parts(parts) for name, parts in claim.parts().items()}
        return combine_readings(claim, outcomes)

    def _judge_parts(self, parts: Sequence[Relation]) -> ClaimOutcome:
        scale = self._study.scale
        kept = tuple(part for part in parts if self._comparable or not self.absolute(part))
        if parts and not kept:
            setting = "the source's" if scale.comparable else scale.name
            reason = (
                f"every part contains a printed number or a margin, and {setting} is not the paper's setting"
            )
            return ClaimOutcome("not comparable", None, 0, reason)
        ours = judge_parts(kept, self)
        if ours.outcome in ABSENT:
            return ours
        if not scale.judges_orders:
            reason = f"claims are not judged at scale {scale.name}; {ours.reason}"
            return replace(ours, outcome="not comparable", reason=reason)
        if len(kept) < len(parts) and ours.outcome != "contradicted":
            absolute = f"{len(parts) - len(kept)} of {len(parts)} parts"
            reason = f"{absolute} contain a printed number or a margin; {ours.reason}"
            return replace(ours, outcome="not comparable", reason=reason)
        return ours

    def _is_run(self, cell: CellId) -> bool:
        ours = self._cells.cell(cell)
        return ours is not None and bool(ours.encoders)

    def _is_quoted(self, cell: CellId) -> bool:
        """Return whether a cell is never run.

        Such a cell is quoted from elsewhere, or is not in a table or figure.
        """
        item = self._study.papers[cell.paper].items.get(cell.item_name)
        if item is None:
            return True
        place = item.place_of(cell)
        return place is None or place[0].quoted

    def absolute(self, part: Relation) -> bool:
        """Return whether a part uses an absolute number of the paper's setting.

        Counts of ordered rows are not absolute numbers.
        """
        if part.margin != 0:
            return True
        is_ordinal = part.op != "within" and part.left[0].compares_rows
        has_constant = not all(side.names for side in (*part.left, *part.right))
        if has_constant and not is_ordinal:
            return True
        cells = list(map(self._names.cell, part.cells))
        if any(map(self._is_quoted, cells)):
            return True
        ours = filter(None, map(self._cells.cell, cells))
        return any(cell.subtracted is not None for cell in ours)
