"""Losses on labels: cross-entropy and squared error of a cosine.

They use the head of a task.
"""

from typing import TypeVar

import torch.nn.functional as F
from torch import Tensor

from replicse.objective.terms import Step, Term
from replicse.registry import terms as parameters

Labelled = TypeVar("Labelled", bound=parameters.LabelledParameters)


class LabelledTerm(Term[Labelled]):
    """A term that compares the predictions of a head with the labels."""

    def predict(self, step: Step) -> Tensor:
        """Compute the output of the task's head for a batch.

        Args:
            step: The inputs of the term.

        Returns:
            Logits, (rows, classes), or ratings, (rows,).

        Raises:
            BadInput: If a view is not encoded.
        """
        vectors = step.vectors_of(self.params.vector_views(len(step.vectors)))
        return step.model.task_heads[self.params.task](*vectors)


class CrossEntropy(LabelledTerm[parameters.CrossEntropyParameters]):
    """Cross-entropy of a classifier."""

    def forward(self, step: Step) -> Tensor:
        """Compute the mean over the rows of the batch.

        Args:
            step: The inputs of the term.
        """
        return F.cross_entropy(self.predict(step), step.labels.long())


class MeanSquaredError(LabelledTerm[parameters.MeanSquaredErrorParameters]):
    """Squared error of a cosine, scaled to the range of the ratings."""

    def forward(self, step: Step) -> Tensor:
        """Compute the mean over the rows of the batch.

        Args:
            step: The inputs of the term.
        """
        return F.mse_loss(self.predict(step), step.labels)
