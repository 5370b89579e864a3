"""The loss of ESimCSE, whose queue is a buffer of the term."""

import torch
import torch.nn.functional as F
from torch import Tensor

from momentum_queue import MomentumQueueParameters
from replicse.objective.terms import Model, Step, Term


class MomentumQueue(Term[MomentumQueueParameters]):
    """InfoNCE with further negatives: the vectors that the momentum encoder gave the last batches."""

    def prepare(self, model: Model) -> None:
        """Make room for the queue: some batches' worth of vectors."""
        rows = round(self.params.queue * model.batch_size)
        self.register_buffer("keys", torch.zeros(rows, model.width))
        self.register_buffer("filled", torch.tensor(0))

    def forward(self, step: Step) -> Tensor:
        """Return the mean loss over the batch's anchors; then queue the batch's keys, the oldest making room."""
        anchors, positives = (F.normalize(vectors, dim=-1) for vectors in step.vectors_of((0, 1)))
        queue = self.keys[len(self.keys) - int(self.filled) :].to(anchors.dtype)
        logits = anchors @ torch.cat([positives, F.normalize(queue, dim=-1)]).T / self.params.temperature
        new = step.momentum_vectors(0).to(self.keys.dtype)
        self.keys.copy_(torch.cat([self.keys, new])[len(new) :])
        self.filled.add_(len(new)).clamp_(max=len(self.keys))
        return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))
