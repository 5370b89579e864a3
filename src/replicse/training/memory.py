"""A step that does not fit into the memory of a GPU is computed again in smaller chunks."""

import gc
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch
from torch import nn

from replicse.errors import Failed
from replicse.training.model import SentenceModel

log = logging.getLogger(__name__)
Result = TypeVar("Result")


class ChunkSize:
    """Halves the chunks of a run when a step runs out of memory, and computes that step again.

    The gradient is that of the whole batch, whatever the chunk (replicse.training.parts). `changes` lists the steps
    that did not fit, with the rows of a chunk since then.
    """

    def __init__(
        self,
        run: str,
        model: SentenceModel,
        terms: nn.Module,
        generator: torch.Generator,
        device: torch.device,
    ) -> None:
        self.run, self.model, self.terms = run, model, terms
        self.generator, self.device = generator, device
        self.changes: list[dict[str, int]] = []

    def compute(self, step: int, rows: int, gradients: Callable[[], Result]) -> Result:
        """Return what `gradients` returns for a batch of so many rows, in smaller chunks if memory ends.

        Raises Failed if a single row does not fit, or if several processes train the run: the others would wait.
        """
        while True:
            restore = self._state()
            try:
                return gradients()
            except torch.OutOfMemoryError as error:
                message = str(error).partition("\n")[0]
            # After the except block: the error's frames keep the tensors of the step.
            self._halve(step, rows, message)
            restore()

    def _halve(self, step: int, rows: int, message: str) -> None:
        parts = self.model.parts
        chunk = min(parts.chunk or rows, rows)
        if chunk == 1 or parts.processes.count > 1:
            remedy = "give the job more memory" if chunk == 1 else f"set chunk to {(chunk + 1) // 2}"
            raise Failed(f"{self.run}: out of memory at step {step + 1} ({message}); {remedy}")
        half = (chunk + 1) // 2
        self.model.parts = replace(parts, chunk=half)
        self.changes.append({"step": step + 1, "chunk": half})
        log.warning("event=out-of-memory step=%d chunk=%d reason=%s", step + 1, half, message)
        for parameter in (*self.model.parameters(), *self.terms.parameters()):
            parameter.grad = None
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _state(self) -> Callable[[], None]:
        """Return what sets generators and buffers back to what they are now."""
        on_gpu = self.device.type == "cuda"
        drawn, random = self.generator.get_state(), torch.get_rng_state()
        random_device = torch.cuda.get_rng_state(self.device) if on_gpu else None
        buffers = [(one, one.clone()) for module in (self.model, self.terms) for one in module.buffers()]

        def restore() -> None:
            self.generator.set_state(drawn)
            torch.set_rng_state(random)
            if random_device is not None:
                torch.cuda.set_rng_state(random_device, self.device)
            with torch.no_grad():
                for buffer, value in buffers:
                    buffer.copy_(value)

        return restore
