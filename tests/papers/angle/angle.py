"""AnglE (Li and Li 2024) on pairs with a graded score.

Includes a schedule with an increasing weight, and sharpness-aware minimisation.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replicse.checked import Positive, Share
from replicse.registry.procedures import OptimiserParameters, ScheduleParameters
from replicse.registry.terms import TwoViews

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

    from replicse.objective import Step


class AngleParameters(TwoViews):
    """Order the angles of labelled pairs like the labels.

    The angles are computed in complex space.

    Attributes:
        scale: Factor of the angles. Default: 20.
    """

    term: Literal["angle"]
    scale: Positive = 20

    def reads_labels(self) -> bool:
        """Return True."""
        return True


def angle(step: "Step", parameters: AngleParameters) -> "Tensor":
    """Return the angle loss over rows i that are rated above rows j.

    log(1 + sum of exp(scale (a_j - a_i))), where a = |Re + Im| of z conj(w) / |z w|.
    """
    import torch

    first, second = (torch.complex(*vectors.chunk(2, dim=1)) for vectors in step.vectors_of((0, 1)))
    quotient = (first * second.conj()).sum(1) / (first.norm(dim=1) * second.norm(dim=1))
    angles = parameters.scale * (quotient.real + quotient.imag).abs()
    above = step.labels[:, None] > step.labels[None, :]
    differences = (angles[None, :] - angles[:, None])[above]
    return torch.logsumexp(torch.cat([differences.new_zeros(1), differences]), dim=0)


class RisingParameters(ScheduleParameters):
    """A weight that increases linearly from 0 to 1 in a share of the steps."""

    schedule: Literal["rising"]
    share: Share


def rising(step: int, steps: int, parameters: RisingParameters) -> float:
    """Return the factor of the weight at a step."""
    return min(1.0, step / (parameters.share * steps))


class SamParameters(OptimiserParameters):
    """AdamW with gradients at the worst weights within radius `rho`.

    Foret et al. (2021). Default radius: 0.05.
    """

    closure: ClassVar[bool] = True
    optimiser: Literal["sam"]
    rho: Positive = 0.05


def sam(groups: Sequence[dict[str, Any]], parameters: SamParameters) -> "Optimizer":
    """Create a variant of torch's AdamW whose step computes gradients twice."""
    import torch

    class Sam(torch.optim.AdamW):
        @torch.no_grad()
        def step(self, closure: Any) -> None:
            weights = chain.from_iterable(group["params"] for group in self.param_groups)
            moved = [each for each in weights if each.grad is not None]
            before = [each.clone() for each in moved]
            norm = _norm(each.grad for each in moved)
            for each in moved:
                each.add_(each.grad, alpha=float(parameters.rho / norm))
            with torch.enable_grad():
                closure()
            for each, old in zip(moved, before, strict=True):
                each.copy_(old)
            super().step()

    return Sam(groups, fused=True)


def _norm(gradients: Iterable["Tensor"]) -> "Tensor":
    import torch

    return torch.stack([gradient.norm() for gradient in gradients]).norm()
