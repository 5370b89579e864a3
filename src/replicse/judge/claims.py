"""The claims of a study: sentences that papers state as results, in print, where they were repeated, and in ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from replicse.compile.study import Study
from replicse.judge.claim_outcomes import ABSENT, ClaimOutcome, judge_claim, judge_parts, one_of
from replicse.judge.judgements import JudgedClaim
from replicse.judge.readings import OurCells, Reading, printed_reading
from replicse.judge.table import ItemResult
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.claim_cells import resolve_claim
from replicse.spec.claims import Claim, Relation, contradictions
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import Paper

# What a smaller scale shows is no verdict on the paper.
SMALLER = {"supported": "for", "contradicted": "against"}


def study_claims(names: CellNames, keys: Iterable[str]) -> list[Claim]:
    """Return the claims of some papers, names resolved over all of them; BadInput for a contradiction of no claim."""
    _contradictions(names.papers)
    return [resolve_claim(claim, names) for key in keys for claim in names.papers[key].claims]


def _contradictions(papers: Mapping[str, Paper]) -> dict[str, tuple[str, ...]]:
    return contradictions(claim for paper in papers.values() for claim in paper.claims)


def judged_in_print(claim: Claim, names: CellNames) -> ClaimOutcome:
    """Return what the printed numbers say of a claim, and what else in print says against it."""
    outcome = judge_claim(claim, lambda name: printed_reading(names.reported(name)))
    return replace(outcome, outcome="contradicted", reason=claim.against) if claim.against else outcome


def cells_read(claims: Iterable[Claim], names: CellNames) -> set[CellId]:
    """Return the cells that some claims read."""
    return {names.cell(name) for claim in claims for name in claim.cells}


class ClaimNumbers(Protocol):
    """Numbers that claims are tested on, of our runs or of others; `whose` says it in a word."""

    whose: str

    def judge(self, claim: Claim) -> ClaimOutcome:
        """Return the outcome of a claim."""

    def ran(self, claim: Claim) -> int:
        """Return how many of the claim's cells have a number."""


def judged_claims(
    plan: Study, claims: Iterable[Claim], results: Iterable[ItemResult], numbers: ClaimNumbers | None = None
) -> Iterator[JudgedClaim]:
    """Yield each claim with its outcome in print, in the reproduction study's numbers and in ours.

    Ours are those of the results, or other `numbers`.
    """
    names = plan.names
    counterpart = _Counterpart(plan.papers, names)
    numbers = numbers or OurNumbers(plan, names, OurCells(results, len(plan.seeds)))
    contradicting = _contradictions(plan.papers)
    for claim in claims:
        reported = judged_in_print(claim, names)
        reproduction = judge_claim(claim, counterpart) if counterpart.knows(claim) else None
        ours = numbers.judge(claim)
        views = {"in print": reported, "reproduction study": reproduction, numbers.whose: ours}
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
    """Our numbers, and what of a claim they may be asked at the scale of the study.

    `comparable` says whether they are made in the paper's setting; default: as the scale says.
    """

    whose = "ours"

    def __init__(
        self, plan: Study, names: CellNames, cells: OurCells, comparable: bool | None = None
    ) -> None:
        self._plan, self._names, self._cells = plan, names, cells
        self._comparable = plan.scale.comparable if comparable is None else comparable

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
        return one_of(claim, {name: self._judged(parts) for name, parts in claim.parts().items()})

    def _judged(self, parts: Sequence[Relation]) -> ClaimOutcome:
        scale = self._plan.scale
        kept = tuple(part for part in parts if self._comparable or not self.absolute(part))
        if parts and not kept:
            setting = "the source's" if scale.comparable else scale.name
            reason = (
                f"every part holds a printed number or a margin, and {setting} is not the paper's setting"
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
