"""RankCSE's method (Liu et al. 2023): rankings distilled from frozen teachers, and alike by both views."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Number, Positive, Share
from replicse.registry.frozen import FrozenModel
from replicse.registry.terms import TwoViews


class RankDistillationParameters(TwoViews):
    """What distillation of rankings from frozen teachers shares (RankCSE, Liu et al. 2023).

    The list of a row are its cosines with all rows of the second view. The teachers' are averaged, by `shares` where
    they do not count alike. A row's own place in its list is left out unless `diagonal` keeps it.
    """

    teachers: Annotated[tuple[FrozenModel, ...], Field(min_length=1)]
    shares: tuple[Share, ...] | None = None
    temperature: Positive = 0.05
    teacher_temperature: Positive = 0.05
    diagonal: bool = False

    def missing(self) -> str:
        """Return a complaint where the shares are not those of the teachers."""
        if not self.shares or (len(self.shares) == len(self.teachers) and math.isclose(sum(self.shares), 1)):
            return ""
        return f"shares {list(self.shares)} of {len(self.teachers)} teachers: give one each, 1 together"


class ListNetParameters(RankDistillationParameters):
    """ListNet (Cao et al. 2007): cross-entropy of the chances to be ranked first, the teachers' and the student's."""

    implementation: ClassVar[str] = "papers.rankcse.losses:ListNet"
    term: Literal["listnet"]


class ListMLEParameters(RankDistillationParameters):
    """ListMLE (Xia et al. 2008): likelihood of the teachers' order; `epsilon` is added to each sum of exponentials.

    The sums are relative to the largest exponential of the row, so that an epsilon weakens the end of the list.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:ListMLE"
    term: Literal["listmle"]
    epsilon: Annotated[Number, Field(ge=0)] = 0


class RankingConsistencyParameters(TwoViews):
    """Jensen-Shannon divergence of the rankings by two views: rows of their similarities and columns (RankCSE).

    `clamped` is what a community implementation computes instead: minus the mean entropy of both, but for its
    constants.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:RankingConsistency"
    term: Literal["ranking-consistency"]
    temperature: Positive = 0.05
    clamped: bool = False
