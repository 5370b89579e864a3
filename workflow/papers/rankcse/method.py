"""The method of RankCSE (Liu et al. 2023).

Ranking distillation from frozen teachers, and ranking consistency.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Number, Positive, Share
from replicse.registry.frozen import FrozenModel
from replicse.registry.terms import TwoViews


class RankDistillationParameters(TwoViews):
    """Parameters of ranking distillation from frozen teachers (RankCSE).

    The list of a row contains its cosines with the rows of the second view. The lists of the teachers are averaged. By
    default, the teachers have equal weights.

    Args:
        teachers: the frozen models, at least one.
        shares: list of the teachers' weights in the average, with a sum of 1. Default: equal weights.
        temperature: the divisor of the student's cosines. Default: 0.05.
        teacher_temperature: the divisor of the teachers' average. Default: 0.05.
        diagonal: whether the list of a row contains the cosine with the row itself. Default: False.
    """

    teachers: Annotated[tuple[FrozenModel, ...], Field(min_length=1)]
    shares: tuple[Share, ...] | None = None
    temperature: Positive = 0.05
    teacher_temperature: Positive = 0.05
    diagonal: bool = False

    def describe_missing(self) -> str:
        """Return an error message if the shares are not valid, otherwise "".

        The list should contain one share per teacher, and the sum should be 1.
        """
        if not self.shares or (len(self.shares) == len(self.teachers) and math.isclose(sum(self.shares), 1)):
            return ""
        return (
            f"shares {list(self.shares)} of {len(self.teachers)} teachers: give each a share, with the sum 1"
        )


class ListNetParameters(RankDistillationParameters):
    """ListNet (Cao et al. 2007).

    Cross-entropy between the top-one probabilities of the teachers and the student.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:ListNet"
    term: Literal["listnet"]


class ListMLEParameters(RankDistillationParameters):
    """ListMLE (Xia et al. 2008): likelihood of the teachers' order.

    The default epsilon does not change the likelihood.

    Args:
        epsilon: the constant that is added to each sum of exponentials. The sums are divided by the largest exponential
            of the row, so a larger epsilon reduces the weight of the end of the list. Default: 0.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:ListMLE"
    term: Literal["listmle"]
    epsilon: Annotated[Number, Field(ge=0)] = 0


class RankingConsistencyParameters(TwoViews):
    """Jensen-Shannon divergence between the rankings of two views (RankCSE).

    The rankings are the rows and columns of the similarities of the views. By default, the loss is the divergence in
    the paper.

    Args:
        temperature: the divisor of the cosines. Default: 0.05.
        clamped: whether to compute the loss of a community implementation, which is minus the mean entropy of both
            rankings up to constants. Default: False.
    """

    implementation: ClassVar[str] = "papers.rankcse.losses:RankingConsistency"
    term: Literal["ranking-consistency"]
    temperature: Positive = 0.05
    clamped: bool = False
