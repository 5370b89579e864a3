"""Losses on labels, through the head of a task: cross-entropy and squared error of a cosine."""

from typing import TypeVar

import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters

Labelled = TypeVar("Labelled", bound=parameters.LabelledParameters)


class LabelledTerm(Term[Labelled]):
    """A term that compares the predictions of a task's head with the labels of the batch."""

    def predict(self, step: Step) -> Tensor:
        """Return the output of the head: (rows, classes) logits, or (rows,) ratings."""
        vectors = step.vectors_of(self.params.vector_views(len(step.vectors)))
        return step.model.task_heads[self.params.task](*vectors)


class CrossEntropy(LabelledTerm[parameters.CrossEntropyParameters]):
    """Cross-entropy of a classifier."""

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the rows of the batch."""
        return F.cross_entropy(self.predict(step), step.labels.long())


class MeanSquaredError(LabelledTerm[parameters.MeanSquaredErrorParameters]):
    """Squared error of a cosine, scaled to the range of the ratings."""

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the rows of the batch."""
        return F.mse_loss(self.predict(step), step.labels)
