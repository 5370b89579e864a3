"""The momentum encoder (He et al. 2020; ESimCSE).

It is an exponential moving average of the encoder in training.
"""

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
    """A moving average of an encoder, without gradients and without dropout.

    It is a submodule of the model, so that the resume state contains it. Every process of a run has an equal copy and
    encodes complete batches with it.

    Args:
        settings: The decay, and whether it starts from random weights and averages the head too.
        backbone: The encoder in training.
        head: The sentence head in training.
    """

    def __init__(self, settings: Momentum, backbone: Backbone, head: SentenceHead) -> None:
        super().__init__()
        self.settings, self.backbone = settings, copy.deepcopy(backbone)
        if settings.start == "random":
            self.backbone.initialise()
        self.head = copy.deepcopy(head) if settings.head == "averaged" else None
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Self:
        """Stay in evaluation mode, without dropout.

        Args:
            mode: Not used.
        """
        return super().train(False)

    @torch.no_grad()
    def follow(self, backbone: Backbone, head: SentenceHead, step: int, steps: int) -> None:
        """Update the moving average of the weights and copy the buffers.

        The new weights are decay * weights + (1 - decay) * trained weights.

        Args:
            backbone: The encoder in training.
            head: The sentence head in training.
            step: The number of the step, from 0.
            steps: The number of steps of the run.
        """
        update_average = get_ema_multi_avg_fn(self.settings.decay_at(step, steps))
        pairs: list[tuple[nn.Module, nn.Module]] = [(self.backbone, backbone)]
        if self.head is not None:
            pairs.append((self.head, head))
        for averaged, trained in pairs:
            update_average(list(averaged.parameters()), list(trained.parameters()), 0)
            for buffer, current in zip(averaged.buffers(), trained.buffers(), strict=True):
                buffer.copy_(current)

    @torch.no_grad()
    def vectors(self, batch: TokenBatch, pooling: SentencePooling, head: SentenceHead) -> Tensor:
        """Encode a batch as sentence vectors.

        Args:
            batch: The packed tokens.
            pooling: The pooling of the vectors.
            head: The sentence head in training, used in evaluation mode if the head is not averaged.

        Returns:
            The vectors, (rows, width), float32, without gradients.
        """
        vectors = pooling(self.backbone, batch)
        if not pooling.params.head:
            return vectors.float()
        if self.head is not None:
            return self.head(vectors).float()
        training = head.training
        head.eval()
        vectors = head(vectors)
        head.train(training)
        return vectors.float()
