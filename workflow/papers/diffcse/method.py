"""The method of DiffCSE (Chuang et al. 2022).

The module defines the parameters of its terms and augmentation, and the suite `recall`.
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

    By default, both views are edited, and the vector of each view conditions the discriminator for this view.

    Attributes:
        ratio: The share of tokens that are masked, inserted or deleted. Default: 0.3.
        views: The views to edit. Default: both.
        condition: The view whose vector conditions the discriminator: one for all edited views, or one for each.
            Default: the edited view itself.
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
        if isinstance(self.condition, int):
            return (self.condition,) * len(self.views)
        if len(self.condition) == 1:
            return self.condition * len(self.views)
        return self.condition

    def vector_views(self, count: int) -> tuple[int, ...]:
        """Return the views whose vectors condition the discriminator."""
        return self.conditions

    def named_views(self) -> Iterable[int]:
        """Return all edited and conditioning views."""
        return (*self.views, *self.conditions)

    def passes(self, count: int) -> float:
        """Return the passes through the discriminator, one per edited view."""
        return len(self.views)

    def describe_missing(self) -> str:
        """Return an error message if `condition` does not match `views`.

        The message is empty if `condition` has one view, or as many as `views`.
        """
        if len(self.conditions) == len(self.views):
            return ""
        return f"1 condition, or as many as views; not {len(self.conditions)} for {len(self.views)} views"


class Rewriting(ConditionalParameters):
    """Parameters of a term with a generator that rewrites sentences.

    By default, each token is replaced by the most likely token.

    Attributes:
        generator: A frozen masked-LM, such as `{backbone: NAME}`.
        choice: The most likely token ("argmax", default) or a sampled token ("sample").
        places: The positions to replace: "all" (default) or only "masked" positions.
    """

    generator: FrozenModel | None = None
    choice: Literal["argmax", "sample"] = "argmax"
    places: Literal["all", "masked"] = "all"

    def frozen_passes(self, count: int) -> float:
        """Return the passes through the generator, one per edited view."""
        return len(self.views)

    def describe_missing(self) -> str:
        """Return an error message if the views or the generator are missing."""
        problem = super().describe_missing()
        if not problem and not self.generator:
            problem = "a generator; name a masked-LM, such as generator: {backbone: NAME}"
        return problem


class ReplacedTokenDetectionParameters(Rewriting):
    """Conditional replaced-token detection (DiffCSE, section 3).

    The default average is the average of the released code.

    Attributes:
        average: The mean over the padded batch as in the code ("padded", default), the mean over tokens ("attended"),
            or the sum over tokens as in the paper's formula ("sum").
        edit: "replace" (default), "insert" or "delete".
    """

    implementation: ClassVar[str] = "papers.diffcse.losses:ReplacedTokenDetection"
    term: Literal["rtd"]
    average: Literal["padded", "attended", "sum"] = "padded"
    edit: Literal["replace", "insert", "delete"] = "replace"

    def describe_missing(self) -> str:
        """Return an error message if a required generator is missing.

        Deletion does not use a generator.
        """
        if self.edit == "delete":
            return ConditionalParameters.describe_missing(self)
        return super().describe_missing()


class ConditionalMaskedLanguageModellingParameters(ConditionalParameters):
    """Conditional masked language modelling (DiffCSE, Table 3).

    Table 3 uses it in place of replaced-token detection.
    """

    implementation: ClassVar[str] = "papers.diffcse.losses:ConditionalMaskedLanguageModelling"
    term: Literal["conditional-mlm"]


class CorrectiveLanguageModellingParameters(Rewriting):
    """Corrective language modelling (DiffCSE, Table 3).

    Table 3 uses it in place of replaced-token detection.
    """

    implementation: ClassVar[str] = "papers.diffcse.losses:CorrectiveLanguageModelling"
    term: Literal["corrective-lm"]


class Insertion(Proposing):
    """Insertion of word pieces at random places, predicted by a masked-LM."""

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
