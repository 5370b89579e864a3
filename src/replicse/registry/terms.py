"""Loss terms: their parameters, the views they read, and the passes through the encoder that they cost."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Count, Id, Number, Positive, Share, Whole
from replicse.registry.encoders import ClassifierHead, Scaling, SimilarityHead, TaskHead
from replicse.registry.entries import Entry
from replicse.registry.frozen import FrozenModel

Views = Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(min_length=1)]
Ratio = Annotated[Number, Field(gt=0, lt=1)]
Weight = Annotated[Number, Field(ge=0)]


class TermParameters(Entry):
    """What every term has: its name and its weight in the objective.

    `implementation` names module and class of the loss. A term is asked which views it reads as vectors, how many
    rows' worth of passes through an encoder of the run's size it adds, and how many through its frozen models: the
    fields of type `FrozenModel`.
    """

    key: ClassVar[str] = "term"
    term: str
    weight: Number = 1

    def vector_views(self, count: int) -> Sequence[int]:
        """Return which of `count` views the term reads as sentence vectors."""
        return range(count)

    def named_views(self) -> Iterable[int]:
        """Return the views that the parameters name, which the run must have."""
        return ()

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return which of `count` views the term reads as vectors of the run's momentum encoder; most read none."""
        return ()

    def passes(self, count: int) -> float:
        """Return the passes of one row through an encoder of the run's size, beyond those of its vectors."""
        return 0

    def frozen_passes(self, count: int) -> float:
        """Return the passes of one row through each of its frozen models: the views it reads, if nothing else."""
        return len(self.vector_views(count))

    def missing(self) -> str:
        """Return what a complete term must be given besides; blank where nothing is missing."""
        return ""

    def task_head(self) -> TaskHead | None:
        """Return what predicts the labels of the corpus, for a term that compares them with a prediction."""
        return None

    def reads_labels(self) -> bool:
        """Return whether the term reads the labels of the corpus, which then must have some."""
        return self.task_head() is not None


class InfoNCEParameters(TermParameters):
    """InfoNCE with in-batch and hard negatives (SimCSE Eq. 1, 5 and 8).

    Of a batch in several `parts` each compares its own rows alone, and the loss is the mean of theirs: so do devices
    that do not gather their vectors, and steps of gradient accumulation.
    """

    implementation: ClassVar[str] = "replicse.objective.infonce:InfoNCE"
    term: Literal["infonce"]
    temperature: Positive = 0.05
    similarity: Literal["cosine", "dot"] = "cosine"
    hard_negative_weight: Positive = 1
    parts: Count = 1
    views: Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(min_length=2)] | None = None

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the views that are compared."""
        return range(count) if self.views is None else self.views

    def named_views(self) -> Iterable[int]:
        """Return the views that are compared, where they are named."""
        return self.views or ()


class TwoViews(TermParameters):
    """What the terms that compare two views share: they read the first two of the run."""

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the first two views."""
        return (0, 1)

    def named_views(self) -> Iterable[int]:
        """Return the two views: a run with one lacks what the term compares it with."""
        return (0, 1)


class NTXentParameters(TwoViews):
    """NT-Xent (Chen et al. 2020): InfoNCE of both views, each vector against all others of the batch in both."""

    implementation: ClassVar[str] = "replicse.objective.nt_xent:NTXent"
    term: Literal["nt-xent"]
    temperature: Positive = 0.05


class MomentumQueueParameters(TwoViews):
    """InfoNCE with further negatives: vectors of earlier first views by the momentum encoder (ESimCSE, section 3.2).

    `queue` is how many of these vectors are kept, the newest ones.
    """

    implementation: ClassVar[str] = "replicse.objective.momentum_queue:MomentumQueue"
    term: Literal["momentum-queue"]
    temperature: Positive = 0.05
    queue: Count = 160

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the first view, whose vectors are queued."""
        return (0,)


class BarlowTwinsParameters(TwoViews):
    """Barlow Twins (Zbontar et al. 2021; methods 3.1); the default is that of the reference code."""

    implementation: ClassVar[str] = "replicse.objective.barlow_twins:BarlowTwins"
    term: Literal["barlow-twins"]
    off_diagonal_weight: Positive = 0.0051


class VICRegParameters(TwoViews):
    """VICReg (Bardes et al. 2022), scaled as in its reference code or as in the paper's formula (methods 3.1)."""

    implementation: ClassVar[str] = "replicse.objective.vicreg:VICReg"
    term: Literal["vicreg"]
    convention: Literal["reference", "paper"] = "reference"
    invariance: Weight = 25
    variance: Weight = 25
    covariance: Weight = 1
    gamma: Positive = 1
    epsilon: Positive = 1e-4


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

    implementation: ClassVar[str] = "replicse.objective.rank_distillation:ListNet"
    term: Literal["listnet"]


class ListMLEParameters(RankDistillationParameters):
    """ListMLE (Xia et al. 2008): likelihood of the teachers' order; `epsilon` is added to each sum of exponentials.

    The sums are relative to the largest exponential of the row, so that an epsilon weakens the end of the list.
    """

    implementation: ClassVar[str] = "replicse.objective.rank_distillation:ListMLE"
    term: Literal["listmle"]
    epsilon: Annotated[Number, Field(ge=0)] = 0


class RankingConsistencyParameters(TwoViews):
    """Jensen-Shannon divergence of the rankings by two views: rows of their similarities and columns (RankCSE).

    `clamped` is what a community implementation computes instead: minus the mean entropy of both, but for its
    constants.
    """

    implementation: ClassVar[str] = "replicse.objective.ranking_consistency:RankingConsistency"
    term: Literal["ranking-consistency"]
    temperature: Positive = 0.05
    clamped: bool = False


class MaskedLanguageModellingParameters(TermParameters):
    """Masked language modelling: SimCSE's auxiliary loss (appendix D) and the pre-training of compact encoders."""

    implementation: ClassVar[str] = "replicse.objective.mlm:MaskedLanguageModelling"
    term: Literal["mlm"]
    ratio: Ratio = 0.15
    candidates: Annotated[Whole, Field(ge=0)] = 0
    in_place: bool = False

    def vector_views(self, count: int) -> Sequence[int]:
        """Return no view: tokens are read, not vectors."""
        return ()

    def passes(self, count: int) -> float:
        """Return one pass for each view: all of them are encoded once more, masked."""
        return count


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

    def vector_views(self, count: int) -> Sequence[int]:
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

    implementation: ClassVar[str] = "replicse.objective.rtd:ReplacedTokenDetection"
    term: Literal["rtd"]
    average: Literal["padded", "attended", "sum"] = "padded"
    edit: Literal["replace", "insert", "delete"] = "replace"

    def missing(self) -> str:
        """Return a complaint where a generator is needed and not named; deleting needs none."""
        return ConditionalParameters.missing(self) if self.edit == "delete" else super().missing()


class ConditionalMaskedLanguageModellingParameters(ConditionalParameters):
    """Conditional masked language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

    implementation: ClassVar[str] = "replicse.objective.conditional_mlm:ConditionalMaskedLanguageModelling"
    term: Literal["conditional-mlm"]


class CorrectiveLanguageModellingParameters(Rewriting):
    """Corrective language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

    implementation: ClassVar[str] = "replicse.objective.corrective_lm:CorrectiveLanguageModelling"
    term: Literal["corrective-lm"]


class LabelledParameters(TermParameters):
    """What the terms on labels share: the task whose head they train."""

    task: Id

    def named_views(self) -> Iterable[int]:
        """Return the sentences that are read: the first views."""
        return self.vector_views(0)

    def vector_views(self, count: int) -> Sequence[int]:
        """Return as many of the first views as the head reads sentences."""
        return range(getattr(self.task_head(), "sentences", 2))


class ClassifierParameters(LabelledParameters):
    """What the terms of a classifier share: its classes and how many sentences it reads."""

    classes: Whole
    sentences: Literal[1, 2]

    def task_head(self) -> TaskHead:
        """Return the classifier."""
        return ClassifierHead(kind="classifier", classes=self.classes, sentences=self.sentences)


class CrossEntropyParameters(ClassifierParameters):
    """Cross-entropy of a classifier with a label in 0 to `classes` - 1 (2-Tier SimCSE, sentiment; methods 5)."""

    implementation: ClassVar[str] = "replicse.objective.labelled:CrossEntropy"
    term: Literal["cross-entropy"]
    classes: Annotated[Whole, Field(ge=2)]
    sentences: Literal[1, 2] = 1


class BinaryCrossEntropyParameters(ClassifierParameters):
    """Binary cross-entropy of a logit of yes; with several classes, of each class against all others."""

    implementation: ClassVar[str] = "replicse.objective.labelled:BinaryCrossEntropy"
    term: Literal["binary-cross-entropy"]
    classes: Annotated[Whole, Field(ge=1)] = 1
    sentences: Literal[1, 2] = 2


class MeanSquaredErrorParameters(LabelledParameters):
    """Squared error of a scaled cosine against human ratings from 0 to 5 (2-Tier SimCSE, Table 1)."""

    implementation: ClassVar[str] = "replicse.objective.labelled:MeanSquaredError"
    term: Literal["mean-squared-error"]
    scaling: Scaling = "sigmoid"

    def task_head(self) -> TaskHead:
        """Return the scaled cosine."""
        return SimilarityHead(kind="similarity", scaling=self.scaling)


Term = TermParameters
