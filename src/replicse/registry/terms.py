"""Loss terms: their parameters, the views they read, and the passes through the encoder that they cost."""

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Count, Id, Number, Positive, UserMessage, Whole
from replicse.errors import check_known
from replicse.registry.encoders import ClassifierHead, Scaling, SimilarityHead, TaskHead
from replicse.registry.entries import Entry
from replicse.registry.procedures import ScheduleParameters

Views = Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(min_length=1)]
Ratio = Annotated[Number, Field(gt=0, lt=1)]
Weight = Annotated[Number, Field(ge=0)]


class TermParameters(Entry):
    """What every term has: its name and its weight in the objective, which follows a `schedule` where one is given.

    Other numbers of the term follow those of `schedules`, by key: `{temperature: cosine}`.
    `implementation` names module and class of the loss. A term is asked which views it reads as vectors, how many
    rows' worth of passes through an encoder of the run's size it adds, and how many through its frozen models: the
    fields of type `FrozenModel`.
    """

    key: ClassVar[str] = "term"
    term: str
    weight: Number = 1
    schedule: ScheduleParameters | None = None
    schedules: dict[str, ScheduleParameters] = {}

    @model_validator(mode="after")
    def _schedules_numbers(self) -> Self:
        fields = type(self).model_fields
        numbers = [key for key, field in fields.items() if field.annotation is float and key != "weight"]
        for key in self.schedules:
            check_known(key, numbers, f'schedules: term {self.term} has no number "{key}"', UserMessage)
        return self

    def at(self, step: int, steps: int) -> Self:
        """Return the parameters at a 0-based step of so many; BadInput if a schedule leads to a value out of range."""
        if not self.schedules:
            return self
        values = {key: getattr(self, key) * each.factor(step, steps) for key, each in self.schedules.items()}
        return self.of({**self.written(), **values}, f"schedules of term {self.term} at step {step + 1}")

    def weight_at(self, step: int, steps: int) -> float:
        """Return the weight at a 0-based step of so many."""
        return float(self.weight) * (self.schedule.factor(step, steps) if self.schedule else 1)

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
        """Return the views that are compared: the first two if none is named."""
        return self.views or (0, 1)


class TwoViews(TermParameters):
    """What the terms that compare two views share: they read the first two of the run."""

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the first two views."""
        return (0, 1)

    def named_views(self) -> Iterable[int]:
        """Return the two views: a run with one lacks what the term compares it with."""
        return (0, 1)


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


class MeanSquaredErrorParameters(LabelledParameters):
    """Squared error of a scaled cosine against human ratings from 0 to 5 (2-Tier SimCSE, Table 1)."""

    implementation: ClassVar[str] = "replicse.objective.labelled:MeanSquaredError"
    term: Literal["mean-squared-error"]
    scaling: Scaling = "sigmoid"

    def task_head(self) -> TaskHead:
        """Return the scaled cosine."""
        return SimilarityHead(kind="similarity", scaling=self.scaling)


Term = TermParameters
