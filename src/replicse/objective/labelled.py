"""Losses on labels, through the head of a task: cross-entropy, squared error of a cosine."""

from typing import TypeVar

import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters

Labelled = TypeVar("Labelled", bound=parameters.LabelledParameters)


class LabelledTerm(Term[Labelled]):
    """A term that compares what a task's head predicts with the labels of the batch."""

    def predicted(self, step: Step) -> Tensor:
        """Return what the head makes of the sentences: (rows, classes) logits, or (rows,) ratings."""
        vectors = step.vectors_of(self.params.vector_views(len(step.vectors)))
        return step.model.task_heads[self.params.task](*vectors)


class CrossEntropy(LabelledTerm[parameters.CrossEntropyParameters]):
    """Cross-entropy of a classifier."""

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the batch's rows."""
        return F.cross_entropy(self.predicted(step), step.labels.long())


class MeanSquaredError(LabelledTerm[parameters.MeanSquaredErrorParameters]):
    """Squared error of a cosine on the scale of the ratings."""

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the batch's rows."""
        return F.mse_loss(self.predicted(step), step.labels)
