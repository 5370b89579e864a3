"""The gradients of one training step.

This includes the loss, the backward pass, accumulation over batches, and clipping.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import methodcaller

import torch
from torch import Tensor, nn

from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput
from replicse.objective import Step
from replicse.registry.run_options import Freeze
from replicse.training.job import TrainJob
from replicse.training.model import SentenceModel
from replicse.training.precision import autocast_to
from replicse.training.processes import Processes
from replicse.training.sources import TrainingSource


@dataclass
class StepGradients:
    """The clipped gradients of training steps.

    Attributes:
        job: The training job.
        model: The model in training.
        parameters: All trained parameters, in the order in which the norms of their gradients are summed.
        optimiser: The optimiser of the parameters.
        scaler: The loss scaler, enabled for fp16.
        generator: The source of the terms' random numbers.
        processes: The processes that train the run.
        device: The device of the model.
        steps: The number of steps of the run.
        scalars: A dict of the scalars of the last step: the loss of each term, and scalars that terms add.
    """

    job: TrainJob
    model: SentenceModel
    parameters: Sequence[nn.Parameter]
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    generator: torch.Generator
    processes: Processes
    device: torch.device
    steps: int
    scalars: dict[str, Tensor] = field(default_factory=dict)

    def compute(
        self, step: int, source: TrainingSource, columns: Sequence[TokenBatch], labels: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Compute the clipped gradients of a step.

        They are the mean over the batches that the step accumulates.

        Args:
            step: The number of the step, from 0.
            source: The source of the batches.
            columns: The packed tokens of each view, of all batches of the step.
            labels: The labels, (rows,), or None.

        Returns:
            The mean loss and the norm of the mean gradients before clipping, two scalar tensors.
        """
        size, rows = self.job.spec.optimisation.batch_size, columns[0].rows
        losses: list[Tensor] = []
        scalars: list[dict[str, Tensor]] = []
        self.optimiser.zero_grad()
        for start in range(0, rows, size):
            batch = map_columns(columns, methodcaller("slice", start, start + size))
            batch_labels = None if labels is None else labels[start : start + size]
            loss = self._compute_loss(step, source, batch, batch_labels)
            self.scaler.scale(loss / math.ceil(rows / size)).backward()
            losses.append(loss.detach())
            scalars.append(self.scalars)
        for name in self.scalars:
            values = [batch_scalars[name].double() for batch_scalars in scalars if name in batch_scalars]
            self.scalars[name] = torch.stack(values).mean()
        self.processes.average_gradients(self.parameters)
        self.scaler.unscale_(self.optimiser)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.job.spec.optimisation.clip)
        return torch.stack(losses).mean(), norm

    def _compute_loss(
        self, step: int, source: TrainingSource, columns: Sequence[TokenBatch], labels: Tensor | None
    ) -> Tensor:
        """Compute the loss of a batch and set `scalars`."""
        edited = source.objective.edit(columns, self.model, self.generator)
        with autocast_to(self.job.spec.precision, self.device):
            pooled: dict[int, Tensor] = {}
            vectors = self.model.vectors(edited, source.poolings, source.repeated, source.encoded, pooled)
            inputs = Step(
                vectors=vectors,
                columns=edited,
                model=self.model,
                generator=self.generator,
                given_labels=labels,
                poolings=source.poolings,
                step=step,
                steps=self.steps,
                pooled=pooled,
            )
            loss = source.objective(inputs)
        self.scalars = {name: value.detach() for name, value in inputs.scalars.items()}
        if not loss.requires_grad:
            raise BadInput(f"{self.job.run_id}: {self._explain_missing_gradient(source)}")
        return loss

    def _explain_missing_gradient(self, source: TrainingSource) -> str:
        if self.job.spec.freeze != Freeze():
            return "all weights are frozen; remove an entry of freeze"
        terms = " and ".join(source.objective.named(self.scalars))
        return f"the loss of {terms} does not depend on a trained weight; compute it from step.vectors_of"


def map_columns(
    columns: Sequence[TokenBatch], change: Callable[[TokenBatch], TokenBatch]
) -> list[TokenBatch]:
    """Apply a change to packed columns.

    A column that occurs twice stays one object, so that it is encoded once.

    Args:
        columns: A list of columns.
        change: A function from a column to the changed column.

    Returns:
        A list of the changed columns.
    """
    changed: dict[int, TokenBatch] = {}
    for column in columns:
        if id(column) not in changed:
            changed[id(column)] = change(column)
    return [changed[id(column)] for column in columns]
