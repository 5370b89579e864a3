"""What the method of 2-Tier SimCSE has alone: binary cross-entropy, and labelled sentences without their labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Whole
from replicse.registry.corpora import Labelled, OneColumn
from replicse.registry.terms import ClassifierParameters

if TYPE_CHECKING:
    from torch import Tensor

    from replicse.objective.terms import Step


class BinaryCrossEntropyParameters(ClassifierParameters):
    """Binary cross-entropy of a logit of yes; with several classes, of each class against all others."""

    term: Literal["binary-cross-entropy"]
    classes: Annotated[Whole, Field(ge=1)] = 1
    sentences: Literal[1, 2] = 2


def binary_cross_entropy(step: "Step", parameters: BinaryCrossEntropyParameters) -> "Tensor":
    """Return the mean over rows and questions: several classes are as many questions."""
    import torch.nn.functional as F

    vectors = step.vectors_of(parameters.vector_views(len(step.vectors)))
    logits, wanted = step.model.task_heads[parameters.task](*vectors), step.labels[:, None]
    if parameters.classes > 1:
        wanted = F.one_hot(step.labels.long(), parameters.classes).float()
    return F.binary_cross_entropy_with_logits(logits, wanted)


class LabelledLines(OneColumn, Labelled):
    """The distinct sentences of a labelled file, both sides of its pairs, in file order."""

    has_labels: ClassVar[bool] = False
    # What tells formats apart: no reader of the other one is given it.
    format: Literal["labelled-lines"]  # type: ignore[assignment]


def labelled_lines(root: Path, corpus: LabelledLines) -> Iterator[tuple[str]]:
    """Yield the distinct sentences of labelled rows, one a row."""
    from replicse.data.corpora import labelled

    return ((text,) for text in dict.fromkeys(text for *texts, _ in labelled(root, corpus) for text in texts))
