"""AdamW by torch's own fused kernel, without `torch.optim`: that imports the compiler, 1.7 s in every job."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamW:
    """Decoupled weight decay and Adam (Loshchilov and Hutter 2019), as SimCSE trains (methods 1.4).

    Results are those of `torch.optim.AdamW(fused=True)`, bit for bit. Parameters without a gradient are left alone.
    `param_groups` holds the one group that a gradient scaler asks for.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], weight_decay: float) -> None:
        self.parameters = list(parameters)
        self.param_groups = [{"params": self.parameters}]
        self.weight_decay = weight_decay
        self.state: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    @property
    def moved(self) -> int:
        """Return how many numbers it has moved so far: those of all parameters that ever had a gradient."""
        return sum(self.parameters[place].numel() for place in self.state)

    @property
    def taken(self) -> int:
        """Return how many updates it has made: a gradient scaler leaves out those that overflow in fp16."""
        return int(max((steps for _, _, steps in self.state.values()), default=0))

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Update every parameter that has a gradient."""
        places = [place for place, parameter in enumerate(self.parameters) if parameter.grad is not None]
        if not places:
            return
        for place in places:
            if place not in self.state:
                self.state[place] = self._fresh(self.parameters[place])
        means, squares, steps = (
            list(column) for column in zip(*(self.state[place] for place in places), strict=True)
        )
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            [self.parameters[place] for place in places],
            [self.parameters[place].grad for place in places],
            means,
            squares,
            [],
            steps,
            lr=learning_rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=self.weight_decay,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )

    @staticmethod
    def _fresh(parameter: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        zeros = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        return zeros, zeros.clone(), torch.zeros((), dtype=torch.float32, device=parameter.device)

    def state_dict(self) -> dict[str, Any]:
        """Return means, squares and step counts by the parameters' places."""
        return {str(place): list(tensors) for place, tensors in self.state.items()}

    def load_state_dict(self, content: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.state = {
            int(place): tuple(tensor.to(self.parameters[int(place)].device) for tensor in tensors)
            for place, tensors in content.items()
        }
