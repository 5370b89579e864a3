"""The losses of RankCSE.

They distil rankings from frozen teachers, and make the rankings of two views consistent.
"""

import math
from typing import TypeVar

import torch
from torch import Tensor

from replicse.objective.frozen import FrozenEncoder
from replicse.objective.similarity import cosines
from replicse.objective.terms import Model, Step, Term

from . import method as parameters

# The community implementation clamps probabilities to this minimum, and by mistake also the logarithm of their mean.
LEAST = 1e-7
Parameters = TypeVar("Parameters", bound=parameters.RankDistillationParameters)


class RankDistillation(Term[Parameters]):
    """Base class of terms that compare student's and teachers' lists.

    The list of a row contains its similarities with the rows of the second view.
    """

    def prepare(self, model: Model) -> None:
        """Load the teachers."""
        self.teachers = [FrozenEncoder(teacher, model.backbone) for teacher in self.params.teachers]

    def forward(self, step: Step) -> Tensor:
        """Return the loss, a scalar: the mean over the rows of the batch."""
        first, second = step.vectors_of((0, 1))
        student = cosines(first, second) / self.params.temperature
        taught = self._average_teachers(step) / self.params.teacher_temperature
        return self.compare(self._lists(student), self._lists(taught), step.generator).mean()

    def compare(self, student: Tensor, taught: Tensor, generator: torch.Generator) -> Tensor:
        """Compute the loss of each row.

        Args:
            student: the student's lists, (rows, length), divided by the temperature.
            taught: the averaged lists of the teachers, (rows, length), divided by their temperature.
            generator: the random generator, used to order ties.

        Returns:
            The losses, (rows,).
        """
        raise NotImplementedError

    def _average_teachers(self, step: Step) -> Tensor:
        """Return the weighted average of the teachers' cosines, (rows, rows)."""
        shares = self.params.shares or [1 / len(self.teachers)] * len(self.teachers)
        one, two = step.columns[:2]
        total = torch.zeros((), device=one.tokens.device)
        for teacher, share in zip(self.teachers, shares, strict=True):
            rows = teacher.vectors(one)
            # If both views are equal, encode them once.
            total = total + share * cosines(rows, rows if two is one else teacher.vectors(two))
        return total

    def _lists(self, similarities: Tensor) -> Tensor:
        """Return the lists, without the row itself unless `diagonal` is set."""
        rows = len(similarities)
        if self.params.diagonal:
            return similarities
        # Remove the diagonal with a view, because selection with a mask would wait for the device.
        return similarities.flatten()[1:].view(rows - 1, rows + 1)[:, :-1].reshape(rows, rows - 1)


class ListNet(RankDistillation[parameters.ListNetParameters]):
    """Cross-entropy of the softmax of teachers' and student's lists."""

    def compare(self, student: Tensor, taught: Tensor, generator: torch.Generator) -> Tensor:
        """Return the cross-entropy of each row, (rows,)."""
        return -(taught.softmax(1) * student.log_softmax(1)).sum(1)


class ListMLE(RankDistillation[parameters.ListMLEParameters]):
    """Negative log-likelihood of the teachers' order.

    The likelihood uses the student's scores. The sum runs over the list.
    """

    def compare(self, student: Tensor, taught: Tensor, generator: torch.Generator) -> Tensor:
        """Return the loss of each row, (rows,), with ties in random order."""
        if not student.shape[1]:
            return student.sum(1)  # a batch of one row has empty lists
        columns = torch.randperm(student.shape[1], generator=generator)
        columns = columns.to(student.device, non_blocking=True)
        order = taught[:, columns].argsort(dim=1, descending=True, stable=True)
        ranked = student[:, columns].gather(1, order)
        ranked = ranked - ranked.amax(1, keepdim=True)
        rest = ranked.flip(1).logcumsumexp(1).flip(1)
        if self.params.epsilon:
            rest = torch.logaddexp(rest, rest.new_full((), math.log(self.params.epsilon)))
        return (rest - ranked).sum(1)


class RankingConsistency(Term[parameters.RankingConsistencyParameters]):
    """Jensen-Shannon divergence between the rankings of two views.

    Row i of the similarities of the views is compared with column i.

    If `clamped` is set, the loss follows perceptiveshawty/RankCSE. This code clamps the logarithm of the mean
    distribution to at least 1e-7. The logarithm is always negative, so a constant replaces it, and the loss only
    rewards entropy.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the loss, a scalar: the mean over the rows of the batch."""
        first, second = step.vectors_of((0, 1))
        similarities = cosines(first, second) / self.params.temperature
        rows, columns = similarities.log_softmax(1), similarities.T.log_softmax(1)
        if self.params.clamped:
            rows, columns = rows.exp().clamp(min=LEAST).log(), columns.exp().clamp(min=LEAST).log()
            mean = torch.full_like(rows, LEAST)
        else:
            mean = torch.logaddexp(rows, columns) - torch.log(rows.new_full((), 2.0))
        divergences = [(each.exp() * (each - mean)).sum(1) for each in (rows, columns)]
        return torch.stack(divergences).mean()
