"""The method of RankCSE (Liu et al. 2023).

It contains ranking distillation from frozen teachers, and ranking consistency.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Number, Positive, Share
from replicse.registry.frozen import FrozenModel
from replicse.registry.terms import TwoViews


class RankDistillationParameters(TwoViews):
    """Parameters of ranking distillation from frozen teachers (RankCSE).

    The list of a row contains cosines with all rows of the second view, except the row itself unless `diagonal` is
    set. Lists of the teachers are averaged, with weights `shares` if they differ.
    """

    teachers: Annotated[tuple[FrozenModel, ...], Field(min_length=1)]
    shares: tuple[Share, ...] | None = None
    temperature: Positive = 0.05
    teacher_temperature: Positive = 0.05
    diagonal: bool = False

    def missing(self) -> str:
        """Return an error message if the shares are not valid.

        Each teacher needs a share, and the sum of the shares must be 1.
        """
        if not self.shares or (len(self.shares) == len(self.teachers) and math.isclose(sum(self.shares), 1)):
            return ""
        return f"shares {list(self.shares)} of {len(self.teachers)} teachers: give one each, 1 together"


class ListNetParameters(RankDistillationParameters):
    """ListNet (Cao et al. 2007).

    It is the cross-entropy of the top-one probabilities of teachers and student.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:ListNet"
    term: Literal["listnet"]


class ListMLEParameters(RankDistillationParameters):
    """ListMLE (Xia et al. 2008): likelihood of the teachers' order.

    `epsilon` is added to each sum of exponentials. The sums are relative to the largest exponential of the row, so that
    epsilon reduces the weight of the end of the list.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:ListMLE"
    term: Literal["listmle"]
    epsilon: Annotated[Number, Field(ge=0)] = 0


class RankingConsistencyParameters(TwoViews):
    """Jensen-Shannon divergence between rankings of two views (RankCSE).

    The rankings are the rows and columns of the similarities of the views. `clamped` computes the loss of a community
    implementation: minus the mean entropy of both, up to constants.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:RankingConsistency"
    term: Literal["ranking-consistency"]
    temperature: Positive = 0.05
    clamped: bool = False
