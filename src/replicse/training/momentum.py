"""The momentum encoder: an exponential moving average of the encoder that is trained (He et al. 2020; ESimCSE)."""

import copy
from typing import Self

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead
from replicse.encoder.pooling import SentencePooling
from replicse.registry.run_options import Momentum


class MomentumEncoder(nn.Module):
    """A copy of an encoder that follows it, without gradients and without dropout.

    It is a part of the model, so that the resume state holds it; every process of a run has the same one and encodes
    complete batches with it.
    """

    def __init__(self, settings: Momentum, backbone: Backbone, head: SentenceHead) -> None:
        super().__init__()
        self.settings, self.backbone = settings, copy.deepcopy(backbone)
        if settings.start == "random":
            self.backbone.initialise()
        self.head = copy.deepcopy(head) if settings.head == "averaged" else None
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Self:
        """Stay as in evaluation: keys have no dropout."""
        return super().train(False)

    @torch.no_grad()
    def follow(self, backbone: Backbone, head: SentenceHead, step: int, steps: int) -> None:
        """Become decay * itself + (1 - decay) * the trained encoder; statistics of a head are copied."""
        average = get_ema_multi_avg_fn(self.settings.decay_at(step, steps))
        pairs = [(self.backbone, backbone)] + ([(self.head, head)] if self.head is not None else [])
        for own, trained in pairs:
            average(list(own.parameters()), list(trained.parameters()), 0)
            for buffer, current in zip(own.buffers(), trained.buffers(), strict=True):
                buffer.copy_(current)

    @torch.no_grad()
    def vectors(self, batch: TokenBatch, pooling: SentencePooling, head: SentenceHead) -> Tensor:
        """Return the sentence vectors of a batch, (rows, width), float32; `head` is the one that is trained."""
        vectors = pooling(self.backbone, batch)
        if pooling.params.head:
            head, training = head if self.head is None else self.head, head.training
            head.eval()
            vectors = head(vectors)
            head.train(training and self.head is None)
        return vectors.float()
