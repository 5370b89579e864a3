"""The losses of RankCSE: a student ranks the batch as its frozen teachers do, and alike by both views."""

import math
from typing import TypeVar

import torch
from torch import Tensor

from replicse.objective.frozen import FrozenEncoder
from replicse.objective.similarity import cosines
from replicse.objective.terms import Model, Step, Term

from . import method as parameters

# Of the community implementation: the least probability and, by a slip, the least logarithm of their mean.
LEAST = 1e-7
Parameters = TypeVar("Parameters", bound=parameters.RankDistillationParameters)


class RankDistillation(Term[Parameters]):
    """Terms on the list of each row: its similarities with the rows of the second view."""

    def prepare(self, model: Model) -> None:
        """Open the teachers."""
        self.teachers = [FrozenEncoder(teacher, model.backbone) for teacher in self.params.teachers]

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the batch's rows."""
        first, second = step.vectors_of((0, 1))
        student = cosines(first, second) / self.params.temperature
        taught = self._taught(step) / self.params.teacher_temperature
        return self.compared(self._lists(student), self._lists(taught), step.generator).mean()

    def compared(self, student: Tensor, taught: Tensor, generator: torch.Generator) -> Tensor:
        """Return the loss of each row, (rows,), of scaled similarities of the student and of the teachers."""
        raise NotImplementedError

    def _taught(self, step: Step) -> Tensor:
        """Return the average of the teachers' cosines, (rows, rows); a text that both views hold is encoded once."""
        shares = self.params.shares or [1 / len(self.teachers)] * len(self.teachers)
        one, two = step.columns[:2]
        total = torch.zeros((), device=one.tokens.device)
        for teacher, share in zip(self.teachers, shares, strict=True):
            rows = teacher.vectors(one)
            total = total + share * cosines(rows, rows if two is one else teacher.vectors(two))
        return total

    def _lists(self, similarities: Tensor) -> Tensor:
        """Return the list of each row: all places, or all but its own."""
        rows = len(similarities)
        if self.params.diagonal:
            return similarities
        # A view: to choose by a mask, the host would wait for the device.
        return similarities.flatten()[1:].view(rows - 1, rows + 1)[:, :-1].reshape(rows, rows - 1)


class ListNet(RankDistillation[parameters.ListNetParameters]):
    """Cross-entropy of the student's softmax over a list against the teachers'."""

    def compared(self, student: Tensor, taught: Tensor, generator: torch.Generator) -> Tensor:
        """Return the cross-entropy of each row."""
        return -(taught.softmax(1) * student.log_softmax(1)).sum(1)


class ListMLE(RankDistillation[parameters.ListMLEParameters]):
    """Minus the log-likelihood, summed over the list, that the student's scores give the teachers' order."""

    def compared(self, student: Tensor, taught: Tensor, generator: torch.Generator) -> Tensor:
        """Return the loss of each row; ties of the teachers are in random order."""
        if not student.shape[1]:
            return student.sum(1)  # a batch of one row has nothing to rank
        columns = torch.randperm(student.shape[1], generator=generator)
        columns = columns.to(student.device, non_blocking=True)
        order = taught[:, columns].argsort(dim=1, descending=True, stable=True)
        ranked = student[:, columns].gather(1, order)
        ranked = ranked - ranked.amax(1, keepdim=True)
        rest = ranked.flip(1).logcumsumexp(1).flip(1)
        if epsilon := self.params.epsilon:
            rest = torch.logaddexp(rest, rest.new_full((), math.log(epsilon)))
        return (rest - ranked).sum(1)


class RankingConsistency(Term[parameters.RankingConsistencyParameters]):
    """Jensen-Shannon divergence of each row of the similarities of two views from the same column.

    `clamped` follows perceptiveshawty/RankCSE, whose logarithm of the mean distribution is kept above 1e-7: above 0,
    which it never is, so that no mean is compared with and what is left rewards entropy.
    """

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the batch's rows."""
        first, second = step.vectors_of((0, 1))
        similarities = cosines(first, second) / self.params.temperature
        rows, columns = similarities.log_softmax(1), similarities.T.log_softmax(1)
        if self.params.clamped:
            rows, columns = (each.exp().clamp(min=LEAST).log() for each in (rows, columns))
            mean = torch.full_like(rows, LEAST)
        else:
            mean = torch.logaddexp(rows, columns) - torch.log(rows.new_full((), 2.0))
        divergences = [(each.exp() * (each - mean)).sum(1) for each in (rows, columns)]
        return torch.stack(divergences).mean()
