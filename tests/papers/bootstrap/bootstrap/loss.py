"""The bootstrap loss, with the running mean of the targets as a buffer."""

import torch
import torch.nn.functional as F
from torch import Tensor

from bootstrap import BootstrapParameters
from replicse.objective.terms import Model, Step, Term


class Bootstrap(Term[BootstrapParameters]):
    """One minus the cosine of a view and the target, centred as in DINO."""

    def prepare(self, model: Model) -> None:
        """Create the running mean."""
        self.register_buffer("centre", torch.zeros(model.width))

    def forward(self, step: Step) -> Tensor:
        """Return the mean loss of the batch, and update the mean of the targets."""
        (anchors,), targets = step.vectors_of((0,)), step.momentum_vectors(1)
        loss = 1 - F.cosine_similarity(anchors, targets - self.centre).mean()
        self.centre.mul_(0.9).add_(targets.mean(0).to(self.centre.dtype), alpha=0.1)
        return loss
