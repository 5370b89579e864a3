"""Loss terms: parameters, views, and additional passes of the encoder."""

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
    """Base of all terms: a name and a weight, which can follow a `schedule`.

    Other numbers of the term follow `schedules` by key: `{temperature: cosine}`. `implementation` is
    `module:class` of the loss. The methods return which views the term uses as vectors, and the number of
    additional passes per row through an encoder of the run's size and through the frozen models (its fields of
    type `FrozenModel`). By default, the weight is 1 in every step.

    Attributes:
        term: the name of the term.
        weight: the weight of the term.
        schedule: the schedule of the weight.
        schedules: the schedules of other numbers of the term, by key.
    """

    key: ClassVar[str] = "term"
    called_with: ClassVar[tuple[str, ...]] = ("step", "parameters")
    term: str
    weight: Number = 1
    schedule: ScheduleParameters | None = None
    schedules: dict[str, ScheduleParameters] = {}

    @model_validator(mode="after")
    def _schedules_numbers(self) -> Self:
        fields = type(self).model_fields
        numbers = [key for key, field in fields.items() if field.annotation is float and key != "weight"]
        for key in self.schedules:
            check_known(key, numbers, f'schedules: "{key}" is not a number of term {self.term}', UserMessage)
        return self

    def at(self, step: int, steps: int) -> Self:
        """Return the parameters at a step.

        Args:
            step: The 0-based step.
            steps: The number of steps of the training.

        Raises:
            BadInput: If a schedule leads to a value out of range.
        """
        if not self.schedules:
            return self
        values = {key: getattr(self, key) * each.factor(step, steps) for key, each in self.schedules.items()}
        return self.of({**self.written(), **values}, f"schedules of term {self.term} at step {step + 1}")

    def weight_at(self, step: int, steps: int) -> float:
        """Compute the weight at a 0-based step.

        Args:
            step: The 0-based step.
            steps: The number of steps of the training.
        """
        if self.schedule is None:
            return float(self.weight)
        return float(self.weight) * self.schedule.factor(step, steps)

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the views used as sentence vectors.

        Args:
            count: The number of views of the source.

        Returns:
            The 0-based numbers of the views. Default: all views.
        """
        return range(count)

    def named_views(self) -> Iterable[int]:
        """Return the views in the parameters; the run should have them."""
        return ()

    def momentum_views(self, count: int) -> Sequence[int]:
        """Return the views used from the momentum encoder.

        Args:
            count: The number of views of the source.

        Returns:
            The 0-based numbers of the views. Default: empty.
        """
        return ()

    def passes(self, count: int) -> float:
        """Return the passes per row through an encoder of the run's size.

        The passes for the vectors are not included.

        Args:
            count: The number of views of the source.

        Returns:
            The number of passes. Default: 0.
        """
        return 0

    def frozen_passes(self, count: int) -> float:
        """Return the passes per row through each frozen model.

        Args:
            count: The number of views of the source.

        Returns:
            The number of passes. Default: one for each view.
        """
        return len(self.vector_views(count))

    def describe_missing(self) -> str:
        """Return the missing parameters, or "" if there are none."""
        return ""

    def task_head(self) -> TaskHead | None:
        """Return the head for labels, or None."""
        return None

    def reads_labels(self) -> bool:
        """Return whether the term requires labels in the corpus."""
        return self.task_head() is not None


class InfoNCEParameters(TermParameters):
    """InfoNCE with in-batch and hard negatives (SimCSE Eq. 1, 5 and 8).

    With several `parts` the batch is split, each part compares only its own rows, and the loss is the mean over
    parts: the same as devices that do not gather their vectors, or steps of gradient accumulation.

    Attributes:
        temperature: the divisor of similarities.
        similarity: the similarity of two vectors.
        hard_negative_weight: the weight of hard negatives in the denominator.
        parts: the number of parts of the batch that are compared separately.
        views: the views that are compared.
    """

    implementation: ClassVar[str] = "replicse.objective.infonce:InfoNCE"
    term: Literal["infonce"]
    temperature: Positive = 0.05
    similarity: Literal["cosine", "dot"] = "cosine"
    hard_negative_weight: Positive = 1
    parts: Count = 1
    views: Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(min_length=2)] | None = None

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the views to compare."""
        return range(count) if self.views is None else self.views

    def named_views(self) -> Iterable[int]:
        """Return the views to compare; default: the first two."""
        return self.views or (0, 1)


class TwoViews(TermParameters):
    """Base of terms on the first two views."""

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the first two views."""
        return (0, 1)

    def named_views(self) -> Iterable[int]:
        """Return the two views, which the run must have."""
        return (0, 1)


class MaskedLanguageModellingParameters(TermParameters):
    """Masked language modelling.

    It is SimCSE's auxiliary loss (appendix D) and the pre-training of compact encoders.

    Attributes:
        ratio: the share of tokens to predict.
        candidates: the number of random tokens in the softmax besides the targets; 0: the full vocabulary.
        in_place: whether other terms encode the masked sentences too, as a bug of SimCSE's code did.
    """

    implementation: ClassVar[str] = "replicse.objective.mlm:MaskedLanguageModelling"
    term: Literal["mlm"]
    ratio: Ratio = 0.15
    candidates: Annotated[Whole, Field(ge=0)] = 0
    in_place: bool = False

    def vector_views(self, count: int) -> Sequence[int]:
        """Return no view, because the term uses tokens instead of vectors."""
        return ()

    def passes(self, count: int) -> float:
        """Return one pass per view, because each is encoded again with masks."""
        return count


class LabelledParameters(TermParameters):
    """Base of the terms with labels: the task whose head they train.

    Attributes:
        task: the task whose head is trained.
    """

    task: Id

    def named_views(self) -> Iterable[int]:
        """Return the views of the sentences, which come first."""
        return self.vector_views(0)

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the first views, as many as the head has input sentences."""
        return range(getattr(self.task_head(), "sentences", 2))


class ClassifierParameters(LabelledParameters):
    """Base of the terms of a classifier: the number of classes and sentences.

    Attributes:
        classes: the number of classes.
        sentences: the number of sentences of a row.
    """

    classes: Whole
    sentences: Literal[1, 2]

    def task_head(self) -> TaskHead:
        """Return the classifier."""
        return ClassifierHead(kind="classifier", classes=self.classes, sentences=self.sentences)


class CrossEntropyParameters(ClassifierParameters):
    """Cross-entropy of a classifier; labels are 0 to `classes` - 1.

    2-Tier SimCSE uses it for sentiment (methods 5).
    """

    implementation: ClassVar[str] = "replicse.objective.labelled:CrossEntropy"
    term: Literal["cross-entropy"]
    classes: Annotated[Whole, Field(ge=2)]
    sentences: Literal[1, 2] = 1


class MeanSquaredErrorParameters(LabelledParameters):
    """Squared error of a scaled cosine and human ratings from 0 to 5.

    2-Tier SimCSE, Table 1.

    Attributes:
        scaling: how a cosine is scaled to the ratings.
    """

    implementation: ClassVar[str] = "replicse.objective.labelled:MeanSquaredError"
    term: Literal["mean-squared-error"]
    scaling: Scaling = "sigmoid"

    def task_head(self) -> TaskHead:
        """Return the scaled cosine."""
        return SimilarityHead(kind="similarity", scaling=self.scaling)


Term = TermParameters
