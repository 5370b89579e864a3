"""Checks that stop a run with a non-finite loss or exploding gradients.

The error contains the step and the reason.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from replicse.errors import Failed

# The largest norm in the embedded study is 4e2 (Barlow Twins), and summing a loss over the tokens of a batch, or over
# a width of 8,192, increases it by less than a factor of a million. With a larger norm, the squared gradients that
# AdamW averages leave no digit in fp32 for earlier steps.
EXPLODED = 1e9


class Guard:
    """A guard against a non-finite loss and exploding gradients.

    The first step that fails is recorded on the device, because reading the loss at each step would stall a GPU.

    Args:
        run: The id of the run, for error messages.
        device: The device of losses and gradients.
        scaled: Whether losses are scaled (fp16). Steps whose gradients overflow are then skipped and do not
            fail.
    """

    def __init__(self, run: str, device: torch.device, scaled: bool) -> None:
        self.run, self.scaled = run, scaled
        # Step (0 if no step failed), loss and norm of the first step that failed.
        self._failed = torch.zeros(3, dtype=torch.float64, device=device)
        self._skipped = torch.zeros((), dtype=torch.int64, device=device)
        # The first step where the loss of each term was not finite.
        self._not_finite: dict[str, Tensor] = {}

    def see(self, step: int, loss: Tensor, norm: Tensor) -> None:
        """Check the loss and the gradient norm of a step on the device.

        Args:
            step: The number of the step, from 1.
            loss: The loss of the step, a scalar tensor.
            norm: The norm of all gradients before clipping, a scalar tensor.
        """
        bad = norm > EXPLODED
        if self.scaled:
            self._skipped += ~norm.isfinite()
            bad = bad & norm.isfinite()
        else:
            bad = bad | ~(loss.isfinite() & norm.isfinite())
        now = torch.stack([torch.full_like(loss, step), loss, norm]).double()
        self._failed = torch.where(bad & (self._failed[0] == 0), now, self._failed)

    @property
    def skipped(self) -> int:
        """Return the number of steps that loss scaling has skipped."""
        return int(self._skipped)

    @skipped.setter
    def skipped(self, count: int) -> None:
        self._skipped.fill_(count)

    def see_terms(self, step: int, losses: Mapping[str, Tensor]) -> None:
        """Record terms whose loss is not finite.

        Args:
            step: The number of the step, from 1.
            losses: A dict from the names of terms to scalar tensors.
        """
        for name, loss in losses.items():
            before = self._not_finite.get(name, torch.zeros_like(loss, dtype=torch.int64))
            bad = ~loss.isfinite() & (before == 0)
            self._not_finite[name] = torch.where(bad, step, before)

    def check(self, step: int, loss: Tensor) -> None:
        """Raise an error if this loss is not finite or an earlier step failed.

        Args:
            step: The number of the step, from 1.
            loss: The loss of the step, a scalar tensor.

        Raises:
            Failed: If a check has failed. The message contains the first such step.
        """
        failed, then, norm = self._failed.tolist()
        if not failed and not math.isfinite(loss):
            failed, then = step, float(loss)
        if failed:
            problem = f"gradients of norm {norm:.3g}" if math.isfinite(then) else f"loss {then}"
            terms = " and ".join(name for name, first in self._not_finite.items() if int(first) == failed)
            if terms:
                problem += f" of {terms}"
            remedy = f"check {terms or 'the terms'} and the data"
            if failed > 1:  # the learning rate has no effect on the first loss
                remedy = f"lower the learning rate, or {remedy}"
            raise Failed(f"{self.run}: {problem} at step {failed:.0f}; {remedy}")
