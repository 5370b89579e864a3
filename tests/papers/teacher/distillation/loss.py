"""The loss of distillation from frozen teachers."""

import torch
import torch.nn.functional as F
from torch import Tensor

from distillation import DistillationParameters
from replicse.objective.frozen import FrozenEncoder
from replicse.objective.terms import Model, Step, Term


class Distillation(Term[DistillationParameters]):
    """Cross-entropy of the student's distribution over the other rows against the mean of the teachers'."""

    def prepare(self, model: Model) -> None:
        """Open the teachers."""
        self.teachers = [FrozenEncoder(teacher, model.backbone) for teacher in self.params.teachers]

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the batch's rows."""
        (vectors,) = step.vectors_of((0,))
        taught = [self._logits(teacher.vectors(step.columns[0])).softmax(1) for teacher in self.teachers]
        return F.cross_entropy(self._logits(vectors), torch.stack(taught).mean(0))

    def _logits(self, vectors: Tensor) -> Tensor:
        unit = F.normalize(vectors, dim=-1)
        cosines = unit @ unit.T / self.params.temperature
        return cosines.masked_fill(torch.eye(len(unit), dtype=torch.bool, device=unit.device), -1e4)
