"""The method of DiffCSE (Chuang et al. 2022).

It contains terms with a conditional discriminator, insertion and recall.
"""

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
    """Parameters of all terms of DiffCSE.

    `views` are the views to edit. For each, `condition` is the view whose vector conditions the discriminator.
    """

    ratio: Ratio = 0.3
    views: Views = (0, 1)
    condition: Views | Annotated[Whole, Field(ge=0)] | None = None

    @property
    def conditions(self) -> tuple[int, ...]:
        """Return the conditioning view of each edited view.

        The default is the edited view itself.
        """
        if self.condition is None:
            return self.views
        condition = (self.condition,) if isinstance(self.condition, int) else self.condition
        return condition * len(self.views) if len(condition) == 1 else condition

    def vector_views(self, count: int) -> tuple[int, ...]:
        """Return the views whose vectors condition the discriminator."""
        return self.conditions

    def named_views(self) -> Iterable[int]:
        """Return edited and conditioning views."""
        return (*self.views, *self.conditions)

    def passes(self, count: int) -> float:
        """Return one pass through the discriminator for each edited view."""
        return len(self.views)

    def missing(self) -> str:
        """Return an error message if `condition` and `views` do not match.

        Both need the same number of views.
        """
        if len(self.conditions) == len(self.views):
            return ""
        return f"condition {list(self.conditions)} for views {list(self.views)}: give one for all of them, or one each"


class Rewriting(ConditionalParameters):
    """A conditional term with sentences that a frozen generator rewrites."""

    generator: FrozenModel | None = None
    choice: Literal["argmax", "sample"] = "argmax"
    places: Literal["all", "masked"] = "all"

    def frozen_passes(self, count: int) -> float:
        """Return one pass for each edited view."""
        return len(self.views)

    def missing(self) -> str:
        """Return an error message if there is no generator."""
        problem = super().missing()
        if not problem and not self.generator:
            problem = "its generator; name a masked-LM: {backbone: NAME}"
        return problem


class ReplacedTokenDetectionParameters(Rewriting):
    """Conditional replaced-token detection (DiffCSE section 3).

    `average` is "padded" as in the code, "attended" for the mean over tokens, or "sum" as in the paper's formula.
    """

    implementation: ClassVar[str] = "papers.diffcse.losses:ReplacedTokenDetection"
    term: Literal["rtd"]
    average: Literal["padded", "attended", "sum"] = "padded"
    edit: Literal["replace", "insert", "delete"] = "replace"

    def missing(self) -> str:
        """Return an error message if a required generator is missing.

        Deletion does not need a generator.
        """
        return ConditionalParameters.missing(self) if self.edit == "delete" else super().missing()


class ConditionalMaskedLanguageModellingParameters(ConditionalParameters):
    """Conditional masked language modelling (DiffCSE, Table 3).

    It replaces replaced-token detection.
    """

    implementation: ClassVar[str] = "papers.diffcse.losses:ConditionalMaskedLanguageModelling"
    term: Literal["conditional-mlm"]


class CorrectiveLanguageModellingParameters(Rewriting):
    """Corrective language modelling (DiffCSE, Table 3).

    It replaces replaced-token detection.
    """

    implementation: ClassVar[str] = "papers.diffcse.losses:CorrectiveLanguageModelling"
    term: Literal["corrective-lm"]


class Insertion(Proposing):
    """Insertion of word pieces of a masked-LM at random places."""

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
