"""Judgements on a study: claims, adjudicated cells and findings."""

from dataclasses import asdict, dataclass
from typing import Any

from replicse.checked import Checked
from replicse.spec.cell_id import CellId

CERTAIN = "certain"
NOT_AUDITED = "not audited"  # the rule for items that cannot be compiled; pages do not count these findings


@dataclass(frozen=True)
class Paired:
    """Differences by seed, with mean and 95% interval.

    The bounds are None for fewer than three seeds.
    """

    mean: float
    low: float | None
    high: float | None
    by_seed: tuple[float, ...]

    @property
    def n(self) -> int:
        """Return the number of seeds."""
        return len(self.by_seed)

    @property
    def resolved(self) -> bool:
        """Return whether the interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def strength(self) -> float:
        """Return the absolute mean divided by half the width of the interval.

        Two seeds have no interval; the smaller absolute difference is returned for them.
        """
        if self.low is None or self.high is None:
            return min(map(abs, self.by_seed))
        return 2 * abs(self.mean) / (self.high - self.low or 1)


@dataclass(frozen=True)
class Explained:
    """A cell under a variant.

    Attributes:
        item, row, column, metric: the id of the cell.
        other: the corresponding cell of another paper; an empty string if there is none.
        reported_other, reported: the printed numbers of both cells.
        gap: the printed number minus the other paper's number. If no other paper prints a number, it is the printed
            number minus our number as described, at a comparable scale only.
        noise: how large the gap can be from seeds and rounding alone; None if it is unknown.
        described: our number as described.
        ours: our number under the variant.
        effect: `ours` minus `described`, paired by seed.
        low, high: the 95% interval of the effect; None for fewer than three seeds.
        by_seed: the effect in each seed.
        share: effect / gap, if the gap is larger than its noise.
        share_low, share_high: the 95% interval of the share.
        outcome: whether the variant explains the gap; an empty string if there is no gap.
        note: a note if the variant changes nothing at this scale.
    """

    item: str
    row: str
    column: str
    metric: str
    other: str
    reported_other: str
    reported: str
    gap: float | None
    noise: float | None
    described: float | None
    protocol: str
    ours: float | None
    effect: float | None
    low: float | None
    high: float | None
    by_seed: tuple[float, ...]
    share: float | None
    share_low: float | None
    share_high: float | None
    outcome: str
    n_seeds: int
    note: str = ""

    @property
    def cell(self) -> CellId:
        """Return the id of the cell."""
        return CellId(self.item, self.row, self.column, self.metric)

    @property
    def other_paper(self) -> str:
        """Return the other paper that prints the cell.

        Returns an empty string if there is none.
        """
        return self.other.partition("/")[0]

    @property
    def paired(self) -> Paired | None:
        """Return the effect with the interval; None if it was not run."""
        if self.effect is None:
            return None
        return Paired(self.effect, self.low, self.high, self.by_seed)

    def line(self) -> dict[str, Any]:
        """Return the row of a CSV file."""
        return {**asdict(self), "by_seed": "; ".join(map(repr, self.by_seed))}


@dataclass(frozen=True)
class Finding:
    """A mistake in a paper, and the correct text.

    Attributes:
        rule: the name of the rule that found the mistake.
        place: the place of the mistake in words.
        cells: ids `paper/item/row/column/metric`, the wrong cell first. For a claim, the first id is `paper/id`.
        printed: the printed text.
        follows: the correct text.
        certainty: "certain" if rounding cannot explain the mistake, else a possible explanation.
        note: a remark.
        against: the places of the numbers that contradict the printed text, in words.
    """

    paper: str
    rule: str
    place: str
    cells: tuple[str, ...]
    printed: str
    follows: str
    certainty: str
    note: str = ""
    against: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Return whether rounding cannot explain the mistake."""
        return self.certainty == CERTAIN

    def line(self) -> dict[str, str]:
        """Return the row of a CSV file."""
        return {**asdict(self), "cells": "; ".join(self.cells), "against": "; ".join(self.against)}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with outcomes on printed, repeated and our numbers.

    Attributes:
        claim: the id `paper/id`.
        text, place: the sentence and its place in the paper.
        cells: the ids of the cells that the claim uses.
        reported: the outcome on the printed numbers.
        reproduction: the outcome on the numbers of the study that repeated the paper; an empty string if there is none.
        ours: the outcome on our numbers.
        ran: the number of cells with a number of ours.
        probability: the probability of the weakest part.
        remark: the part that is not tested, and the outcome of each reading.
        contradicts: claims of other papers that the claim contradicts.
        reason: the reasons of the outcomes.
    """

    claim: str
    text: str
    place: str
    cells: tuple[str, ...]
    reported: str
    reproduction: str
    ours: str
    ran: int
    probability: float | None
    n_seeds: int
    remark: str = ""
    contradicts: tuple[str, ...] = ()
    reason: str = ""

    @property
    def paper(self) -> str:
        """Return the key of the paper that contains the claim."""
        return self.claim.partition("/")[0]

    @property
    def cells_run(self) -> str:
        """Return how many cells have a number of ours, such as `2 of 10`."""
        return f"{self.ran} of {len(self.cells)}"

    def line(self) -> dict[str, str]:
        """Return the row of a CSV file."""
        return {
            **asdict(self),
            "cells": "; ".join(self.cells),
            "ran": self.cells_run,
            "probability": "" if self.probability is None else repr(self.probability),
            "n_seeds": str(self.n_seeds),
            "contradicts": "; ".join(self.contradicts),
        }

    def facts(self) -> dict[str, Any]:
        """Return the row of a CSV file with numbers as numbers.

        Missing numbers are None.
        """
        return {**self.line(), "probability": self.probability, "n_seeds": self.n_seeds}


class Judgements(Checked):
    """Judgements on all items of a study, and the audit."""

    claims: tuple[JudgedClaim, ...] = ()
    adjudication: tuple[Explained, ...] = ()
    audit: tuple[Finding, ...] = ()
