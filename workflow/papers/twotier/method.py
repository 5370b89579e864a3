"""The method of 2-Tier SimCSE.

Binary cross-entropy, and a corpus of labelled sentences without their labels.
"""

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
    """Binary cross-entropy of one logit or of several classes.

    If there are several classes, each class is compared with all other classes. The defaults are for pairs of sentences
    with a yes-or-no label.

    Args:
        classes: the number of logits. Default: 1.
        sentences: the number of sentences per row, 1 or 2. Default: 2.
    """

    term: Literal["binary-cross-entropy"]
    classes: Annotated[Whole, Field(ge=1)] = 1
    sentences: Literal[1, 2] = 2


def binary_cross_entropy(step: "Step", parameters: BinaryCrossEntropyParameters) -> "Tensor":
    """Compute the mean binary cross-entropy over rows and classes.

    Args:
        step: a training step, with the labels of its rows.
        parameters: the parameters of the term.

    Returns:
        The loss, a scalar.
    """
    import torch.nn.functional as F

    vectors = step.vectors_of(parameters.vector_views(len(step.vectors)))
    logits, targets = step.model.task_heads[parameters.task](*vectors), step.labels[:, None]
    if parameters.classes > 1:
        targets = F.one_hot(step.labels.long(), parameters.classes).float()
    return F.binary_cross_entropy_with_logits(logits, targets)


class LabelledLines(OneColumn, Labelled):
    """A corpus of the distinct sentences of a labelled file, in file order.

    Both sentences of a pair are included.
    """

    has_labels: ClassVar[bool] = False
    # The discriminator of formats; the value of the base class is never used.
    format: Literal["labelled-lines"]  # type: ignore[assignment]


def labelled_lines(root: Path, corpus: LabelledLines) -> Iterator[tuple[str]]:
    """Yield the distinct sentences of labelled rows, each as a tuple of one.

    Args:
        root: the data root, a folder of datasets.
        corpus: the corpus.
    """
    from replicse.data.corpora import labelled

    distinct: dict[str, None] = {}
    for *texts, _ in labelled(root, corpus):
        distinct |= dict.fromkeys(texts)
    for text in distinct:
        yield (text,)
