"""AdamW as SimCSE trains with it (Loshchilov and Hutter 2019; methods 1.4): torch's own, in its fused kernel."""

from collections.abc import Iterable

import torch
from torch import nn

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamW(torch.optim.AdamW):
    """Decoupled weight decay and Adam; parameters without a gradient are left alone."""

    def __init__(self, parameters: Iterable[nn.Parameter], weight_decay: float) -> None:
        super().__init__(list(parameters), betas=BETAS, eps=EPSILON, weight_decay=weight_decay, fused=True)

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Return what it moves, in its order."""
        return self.param_groups[0]["params"]

    @property
    def moved(self) -> int:
        """Return how many numbers it has moved so far: those of all parameters that ever had a gradient."""
        return sum(parameter.numel() for parameter in self.state)

    @property
    def taken(self) -> int:
        """Return how many updates it has made: a gradient scaler leaves out those that overflow in fp16."""
        return int(max((state["step"] for state in self.state.values()), default=0))

    def set_rate(self, learning_rate: float) -> None:
        """Set the learning rate of the next step."""
        self.param_groups[0]["lr"] = learning_rate
