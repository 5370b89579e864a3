"""Schedules of rates and weights, optimisers, and orders of rows."""

import math
from typing import ClassVar, Literal

from replicse.checked import Positive, Rate
from replicse.registry.entries import NamedEntry


class ScheduleParameters(NamedEntry):
    """Base of all schedules; the code is `function(step, steps, parameters)`.

    It returns a factor for the 0-based step `step` of `steps`. The learning rate follows a schedule after its
    warm-up, and the weight of a term can follow a schedule too.

    Attributes:
        schedule: the name of the schedule.
    """

    key: ClassVar[str] = "schedule"
    called_with: ClassVar[tuple[str, ...]] = ("step", "steps", "parameters")
    schedule: str

    def factor(self, step: int, steps: int) -> float:
        """Compute the factor at a 0-based step.

        Args:
            step: The 0-based step.
            steps: The number of steps of the training.
        """
        return float(self.made_by()(step, steps, self))


class LinearSchedule(ScheduleParameters):
    """Decreases linearly from 1; it would be 0 at the step after the last."""

    schedule: Literal["linear"]


def linear(step: int, steps: int, parameters: LinearSchedule) -> float:
    """Return the share of the remaining steps.

    Args:
        step: The 0-based step.
        steps: The number of steps of the training.
        parameters: The schedule.
    """
    return (steps - step) / steps


class ConstantSchedule(ScheduleParameters):
    """1 at all steps."""

    schedule: Literal["none"]


def none(step: int, steps: int, parameters: ConstantSchedule) -> float:
    """Return 1."""
    return 1.0


class CosineSchedule(ScheduleParameters):
    """Half a cosine from 1 to `floor`, without restarts.

    Loshchilov and Hutter (2017).

    Attributes:
        floor: the last value.
    """

    schedule: Literal["cosine"]
    floor: Rate = 0


def cosine(step: int, steps: int, parameters: CosineSchedule) -> float:
    """Compute the factor, which would reach the floor after the last step.

    Args:
        step: The 0-based step.
        steps: The number of steps of the training.
        parameters: The schedule with the floor.
    """
    return parameters.floor + (1 - parameters.floor) * (1 + math.cos(math.pi * step / steps)) / 2


class OptimiserParameters(NamedEntry):
    """Base of optimisers; the code is `function(groups, parameters)`.

    It returns a torch optimiser. `groups` are torch's parameter groups with `params`, `lr` and `weight_decay`;
    the training loop sets `lr` before each step. With `closure` a step gets a function that computes loss and
    gradients of the batch again (SAM).

    Attributes:
        optimiser: the name of the optimiser.
    """

    key: ClassVar[str] = "optimiser"
    called_with: ClassVar[tuple[str, ...]] = ("groups", "parameters")
    home: ClassVar[str] = "replicse.training.optimiser"
    closure: ClassVar[bool] = False
    optimiser: str


class AdamWParameters(OptimiserParameters):
    """AdamW with SimCSE's defaults (Loshchilov and Hutter 2019; methods 1.4).

    Attributes:
        betas: the decay rates of both moments.
        epsilon: the constant of the denominator.
    """

    optimiser: Literal["adamw"]
    betas: tuple[Rate, Rate] = (0.9, 0.999)
    epsilon: Positive = 1e-8


class OrderParameters(NamedEntry):
    """Base of orders; the code is `function(data, epoch, random, parameters)`.

    It returns the row numbers of an epoch, as many as the dataset has rows; batches are consecutive parts of
    them. `data` has `rows`, `batch_size`, `labels` and `columns` of tokens; `random` is a numpy generator
    seeded by seed and epoch.

    Attributes:
        order: the name of the order.
    """

    key: ClassVar[str] = "order"
    called_with: ClassVar[tuple[str, ...]] = ("data", "epoch", "random", "parameters")
    home: ClassVar[str] = "replicse.training.orders"
    order: str

    def reads_labels(self) -> bool:
        """Return whether the corpus should have labels."""
        return False


class ShuffledOrder(OrderParameters):
    """A new permutation in each epoch."""

    order: Literal["shuffled"]


class SequentialOrder(OrderParameters):
    """The order of the corpus."""

    order: Literal["sequential"]


class AscendingOrder(OrderParameters):
    """A curriculum: rows in ascending order of label or length.

    The length is the number of tokens of the first view.

    Attributes:
        by: `label` or `length`, the number of tokens of the first view.
    """

    order: Literal["ascending"]
    by: Literal["label", "length"]

    def reads_labels(self) -> bool:
        """Return whether rows are ordered by label."""
        return self.by == "label"


class BalancedOrder(OrderParameters):
    """Cycles through the labels.

    Rows of a rare label are repeated, and some rows of a frequent label are skipped.
    """

    order: Literal["balanced"]

    def reads_labels(self) -> bool:
        """Return True."""
        return True


class DistinctOrder(OrderParameters):
    """A permutation with distinct texts in each batch, if enough rows remain."""

    order: Literal["distinct"]
