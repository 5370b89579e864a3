"""What all items of a study say together, as typed values: claims, adjudicated cells, findings of the audit."""

from dataclasses import asdict, dataclass
from typing import Any

from replicse.checked import Checked
from replicse.spec.cell_id import CellId

CERTAIN = "certain"
NOT_AUDITED = "not audited"  # a rule that names what the others could not read; pages do not count it


@dataclass(frozen=True)
class Paired:
    """A difference in each seed that both sides have, their mean and its 95% bounds (None below three seeds)."""

    mean: float
    low: float | None
    high: float | None
    by_seed: tuple[float, ...]

    @property
    def n(self) -> int:
        """Return how many seeds both sides have."""
        return len(self.by_seed)

    @property
    def resolved(self) -> bool:
        """Return whether the interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def strength(self) -> float:
        """Return the mean over half the interval; of two seeds, which have none, the smaller difference."""
        if self.low is None or self.high is None:
            return min(map(abs, self.by_seed))
        return 2 * abs(self.mean) / (self.high - self.low or 1)


@dataclass(frozen=True)
class Explained:
    """One cell under one variant.

    `gap` is the printed number less the other paper's; where no other paper prints one, the printed number
    less ours as described, and only at a scale whose numbers are comparable; `noise` is how large it may be by seeds
    and rounding alone, None where that is unknown. `effect` is ours under the variant less ours as described, paired
    by seed, `by_seed` each of them, `low` and `high` its 95% interval (None below three seeds). `share` is
    effect / gap with the bounds it inherits, given where the gap is larger than its noise; `outcome` says in a word
    whether the variant explains the gap, blank where there is none. `note` marks a variant that changes nothing at this
    scale.
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
        """Return the cell that is explained."""
        return CellId(self.item, self.row, self.column, self.metric)

    @property
    def other_paper(self) -> str:
        """Return the other paper that prints the cell; blank where none does."""
        return self.other.partition("/")[0]

    @property
    def paired(self) -> Paired | None:
        """Return the effect with its bounds and that in each seed; None where nothing was run."""
        return None if self.effect is None else Paired(self.effect, self.low, self.high, self.by_seed)

    def line(self) -> dict[str, Any]:
        """Return the line of a CSV."""
        return {**asdict(self), "by_seed": "; ".join(map(repr, self.by_seed))}


@dataclass(frozen=True)
class Finding:
    """One mistake in print: what is printed where, and what follows instead.

    `place` is in a reader's words. `cells` are names `paper/item/row/column/metric`, the one in question first; a
    claim's `paper/id` is first. `certainty` is "certain" where no rounding explains it, else it says what would.
    `against` holds the places of the numbers that contradict it, in a reader's words.
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
        """Return whether no rounding explains it."""
        return self.certainty == CERTAIN

    def line(self) -> dict[str, str]:
        """Return the line of a CSV."""
        return {**asdict(self), "cells": "; ".join(self.cells), "against": "; ".join(self.against)}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its outcome in print, in the numbers of the study that repeated it (blank for none), and in ours.

    `ran` is of how many of the cells there is a number of ours, `probability` that of the weakest part; `remark` says
    what of the claim is not tested and what each reading of it came to, `contradicts` names claims of other papers.
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
        """Return the key of the paper that states it."""
        return self.claim.partition("/")[0]

    @property
    def cells_run(self) -> str:
        """Return of how many of the cells there is a number, as `2 of 10`."""
        return f"{self.ran} of {len(self.cells)}"

    def line(self) -> dict[str, str]:
        """Return the line of a CSV."""
        return {
            **asdict(self),
            "cells": "; ".join(self.cells),
            "ran": self.cells_run,
            "probability": "" if self.probability is None else repr(self.probability),
            "n_seeds": str(self.n_seeds),
            "contradicts": "; ".join(self.contradicts),
        }

    def facts(self) -> dict[str, Any]:
        """Return the line with its numbers as numbers; None where there is none."""
        return {**self.line(), "probability": self.probability, "n_seeds": self.n_seeds}


class Judgements(Checked):
    """What all items of a study say together: claims, adjudicated cells, and the audit of what is printed."""

    claims: tuple[JudgedClaim, ...] = ()
    adjudication: tuple[Explained, ...] = ()
    audit: tuple[Finding, ...] = ()
