"""Recovery from lack of GPU memory by smaller chunks."""

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
    """The chunk size of a run, halved when a step runs out of memory.

    The step is then computed again. The gradient does not depend on the chunk size (replicse.training.parts).

    Args:
        run: The id of the run, for error messages.
        model: The model in training.
        terms: The terms of the run.
        generator: The source of the terms' random numbers.
        device: The device of the model.

    Attributes:
        changes: A list of dicts: the steps that ran out of memory, from 1, with the new chunk size in rows.
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
        """Call `gradients`, and repeat the call with smaller chunks if needed.

        The call is repeated if it runs out of memory.

        Args:
            step: The number of the step, from 0.
            rows: The number of rows of the batch.
            gradients: A function that computes the gradients of the step.

        Returns:
            The result of `gradients`.

        Raises:
            Failed: If a single row does not fit, or if several processes train the run, because the other
                processes would wait for the repeated step.
        """
        while True:
            restore = self._save_random_state()
            try:
                return gradients()
            except torch.OutOfMemoryError as error:
                message = str(error).partition("\n")[0]
            # This is outside the except block, because the frames of the error keep the tensors of the step.
            self._halve_chunks(step, rows, message)
            restore()

    def _halve_chunks(self, step: int, rows: int, message: str) -> None:
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

    def _save_random_state(self) -> Callable[[], None]:
        """Return a function that restores the generators and buffers."""
        on_gpu = self.device.type == "cuda"
        generator_state, random_state = self.generator.get_state(), torch.get_rng_state()
        random_device = torch.cuda.get_rng_state(self.device) if on_gpu else None
        buffers = [(buffer, buffer.clone()) for buffer in (*self.model.buffers(), *self.terms.buffers())]

        def restore() -> None:
            self.generator.set_state(generator_state)
            torch.set_rng_state(random_state)
            if random_device is not None:
                torch.cuda.set_rng_state(random_device, self.device)
            with torch.no_grad():
                for buffer, value in buffers:
                    buffer.copy_(value)

        return restore
