"""Numeric guards of a run: what can only be a failure stops it, with the step and the reason."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from replicse.errors import Failed

# Honest gradients are far below: the largest norm of the embedded study is 4e2 (Barlow Twins), and a loss that is
# summed over the tokens of a batch, or over a width of 8,192, is not a million times as large. Beyond it the squares
# that AdamW keeps leave fp32 no digit of what came before.
EXPLODED = 1e9


class Guard:
    """Watches loss and gradients of each step without reading them, which would stall a GPU.

    `scaled` says that losses are scaled (fp16): steps whose gradients overflow are then skipped, and are no failure.
    """

    def __init__(self, run: str, device: torch.device, scaled: bool) -> None:
        self.run, self.scaled = run, scaled
        # Step (0: none), loss and norm of the first step that failed.
        self._failed = torch.zeros(3, dtype=torch.float64, device=device)
        self._skipped = torch.zeros((), dtype=torch.int64, device=device)
        # The first step at which the loss of each term was not finite.
        self._not_finite: dict[str, Tensor] = {}

    def see(self, step: int, loss: Tensor, norm: Tensor) -> None:
        """Note the loss that step `step` (from 1) had and the norm of all its gradients before they were clipped."""
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
        """Return how many steps loss scaling has skipped."""
        return int(self._skipped)

    @skipped.setter
    def skipped(self, count: int) -> None:
        self._skipped.fill_(count)

    def see_terms(self, step: int, losses: Mapping[str, Tensor]) -> None:
        """Note which terms, by name, had a loss at a step that is not finite."""
        for name, loss in losses.items():
            before = self._not_finite.get(name, torch.zeros_like(loss, dtype=torch.int64))
            bad = ~loss.isfinite() & (before == 0)
            self._not_finite[name] = torch.where(bad, step, before)

    def check(self, step: int, loss: Tensor) -> None:
        """Raise Failed where the loss of this step is no number, or an earlier one failed."""
        failed, then, norm = self._failed.tolist()
        if not failed and not math.isfinite(loss):
            failed, then = step, float(loss)
        if failed:
            what = f"gradients of norm {norm:.3g}" if math.isfinite(then) else f"loss {then}"
            terms = " and ".join(name for name, first in self._not_finite.items() if int(first) == failed)
            if terms:
                what += f" of {terms}"
            checked = f"check {terms or 'the terms'} and the data"
            # Before the first update no learning rate has changed anything.
            remedy = f"lower the learning rate, or {checked}" if failed > 1 else checked
            raise Failed(f"{self.run}: {what} at step {failed:.0f}; {remedy}")
