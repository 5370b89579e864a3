"""DiffCSE's method (Chuang et al. 2022): terms with a conditional discriminator, insertions, recall of paraphrases."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Whole
from replicse.registry.augmentations import Proposing
from replicse.registry.frozen import FrozenModel
from replicse.registry.suites import COUNT, PERCENTAGE, Suite, metrics_in
from replicse.registry.terms import Ratio, TermParameters, Views

CUTOFFS = {"at1": 1, "at5": 5, "at10": 10}


class ConditionalParameters(TermParameters):
    """What the terms of DiffCSE share: views that are edited, and for each the view whose vector conditions it."""

    ratio: Ratio = 0.3
    views: Views = (0, 1)
    condition: Views | Annotated[Whole, Field(ge=0)] | None = None

    @property
    def conditions(self) -> tuple[int, ...]:
        """Return the conditioning view of each edited view; its own unless another is named."""
        if self.condition is None:
            return self.views
        condition = (self.condition,) if isinstance(self.condition, int) else self.condition
        return condition * len(self.views) if len(condition) == 1 else condition

    def vector_views(self, count: int) -> tuple[int, ...]:
        """Return the views whose vectors the discriminator is given."""
        return self.conditions

    def named_views(self) -> Iterable[int]:
        """Return edited and conditioning views."""
        return (*self.views, *self.conditions)

    def passes(self, count: int) -> float:
        """Return one pass through the discriminator for each edited view."""
        return len(self.views)

    def missing(self) -> str:
        """Return a complaint where edited and conditioning views do not pair up."""
        if len(self.conditions) == len(self.views):
            return ""
        return f"condition {list(self.conditions)} for views {list(self.views)}: give one for all of them, or one each"


class Rewriting(ConditionalParameters):
    """A conditional term whose sentences a frozen generator rewrites."""

    generator: FrozenModel | None = None
    choice: Literal["argmax", "sample"] = "argmax"
    places: Literal["all", "masked"] = "all"

    def frozen_passes(self, count: int) -> float:
        """Return one pass for each edited view."""
        return len(self.views)

    def missing(self) -> str:
        """Return a complaint where no generator is named."""
        return super().missing() or (
            "" if self.generator else "its generator; name a masked-LM: {backbone: NAME}"
        )


class ReplacedTokenDetectionParameters(Rewriting):
    """Conditional replaced-token detection (DiffCSE section 3); `average` as coded, or as the paper's formula."""

    implementation: ClassVar[str] = "papers.diffcse.losses:ReplacedTokenDetection"
    term: Literal["rtd"]
    average: Literal["padded", "attended", "sum"] = "padded"
    edit: Literal["replace", "insert", "delete"] = "replace"

    def missing(self) -> str:
        """Return a complaint where a generator is needed and not named; deleting needs none."""
        return ConditionalParameters.missing(self) if self.edit == "delete" else super().missing()


class ConditionalMaskedLanguageModellingParameters(ConditionalParameters):
    """Conditional masked language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

    implementation: ClassVar[str] = "papers.diffcse.losses:ConditionalMaskedLanguageModelling"
    term: Literal["conditional-mlm"]


class CorrectiveLanguageModellingParameters(Rewriting):
    """Corrective language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

    implementation: ClassVar[str] = "papers.diffcse.losses:CorrectiveLanguageModelling"
    term: Literal["corrective-lm"]


class Insertion(Proposing):
    """Word pieces of a masked-LM inserted at random places."""

    implementation: ClassVar[str] = "papers.diffcse.insertion:insertion"
    name: Literal["insertion"]


_WAYS = (("all", "distinct"), ("forward", "backward", "both"))
SUITES = {
    "recall": Suite(
        "papers.diffcse.recall",
        "fast",
        {**metrics_in(PERCENTAGE, *_WAYS, CUTOFFS), **metrics_in(COUNT, *_WAYS, ("n", "corpus"))},
        rising=tuple(CUTOFFS),
    )
}
