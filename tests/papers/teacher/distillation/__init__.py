"""Distillation by frozen teachers as a plug-in: the student's similarities inside a batch are to be the teachers'."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Positive
from replicse.registry.frozen import FrozenModel
from replicse.registry.terms import TermParameters


class DistillationParameters(TermParameters):
    """Listwise distillation of the cosines of a row with all others (as in RankCSE); teachers count alike."""

    implementation: ClassVar[str] = "distillation.loss:Distillation"
    term: Literal["distillation"]
    teachers: Annotated[tuple[FrozenModel, ...], Field(min_length=1)]
    temperature: Positive = 0.05

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the first view."""
        return (0,)
