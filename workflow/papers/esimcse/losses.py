"""InfoNCE with a queue of negatives from a momentum encoder.

See He et al. (2020) and ESimCSE (Wu et al. 2022).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.similarity import dot_products
from replicse.objective.terms import Model, Step, Term

from .method import MomentumQueueParameters


class MomentumQueue(Term[MomentumQueueParameters]):
    """Cross-entropy of first views against second views and a queue.

    Each first view (anchor) is compared with all second views of the batch and all vectors of the queue; the target is
    the second view of the same sentence. As in InfoNCE, second views are not anchors. The queue contains vectors of the
    momentum encoder; they are normalised when cosines are computed, not when they are added.
    """

    keys: Tensor
    filled: Tensor

    def prepare(self, model: Model) -> None:
        """Create an empty queue."""
        self.register_buffer("keys", torch.zeros(self.params.queue, model.width))
        self.register_buffer("filled", torch.tensor(0))

    def _apply(self, function: Callable[[Tensor], Tensor], recurse: bool = True) -> "MomentumQueue":
        """Move the queue to a device, but keep its current size on the CPU."""
        # Each step needs the size as an int, which would wait for the device.
        filled = self.filled
        super()._apply(function, recurse)  # type: ignore[no-untyped-call]
        self.filled = filled
        return self

    def forward(self, step: Step) -> Tensor:
        """Compute the mean loss over the anchors and update the queue.

        New vectors replace the oldest vectors of the queue.
        """
        anchors, positives = (F.normalize(vectors, dim=-1) for vectors in step.vectors_of((0, 1)))
        queue = self.keys[len(self.keys) - int(self.filled) :]
        others = torch.cat([positives, F.normalize(queue.to(positives.dtype), dim=-1)])
        logits = dot_products(anchors, others) / self.params.temperature
        new = step.momentum_vectors(0).to(self.keys.dtype)
        self.keys.copy_(torch.cat([self.keys, new])[len(new) :])
        self.filled.add_(len(new)).clamp_(max=len(self.keys))
        return F.cross_entropy(logits, torch.arange(len(anchors), device=logits.device))
