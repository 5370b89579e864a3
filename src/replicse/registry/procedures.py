"""How a run trains: schedules of rates and weights, optimisers, orders of rows."""

import math
from typing import ClassVar, Literal

from replicse.checked import Positive, Rate
from replicse.registry.entries import NamedEntry


class ScheduleParameters(NamedEntry):
    """What every schedule has: its code is `function(step, steps, parameters)`, a factor at a 0-based step of so many.

    The learning rate follows one after its warm-up, and so may the weight of a term.
    """

    key: ClassVar[str] = "schedule"
    schedule: str

    def factor(self, step: int, steps: int) -> float:
        """Return the factor at a 0-based step."""
        return float(self.made_by()(step, steps, self))


class LinearSchedule(ScheduleParameters):
    """From 1 linearly to 0, which the step after the last would have."""

    schedule: Literal["linear"]


def linear(step: int, steps: int, parameters: LinearSchedule) -> float:
    """Return the share of the steps that are left."""
    return (steps - step) / steps


class ConstantSchedule(ScheduleParameters):
    """1 at all steps."""

    schedule: Literal["none"]


def none(step: int, steps: int, parameters: ConstantSchedule) -> float:
    """Return 1."""
    return 1.0


class CosineSchedule(ScheduleParameters):
    """From 1 by half a cosine to `floor` (Loshchilov and Hutter 2017, without restarts)."""

    schedule: Literal["cosine"]
    floor: Rate = 0


def cosine(step: int, steps: int, parameters: CosineSchedule) -> float:
    """Return the factor, which the step after the last would have at the floor."""
    return parameters.floor + (1 - parameters.floor) * (1 + math.cos(math.pi * step / steps)) / 2


class OptimiserParameters(NamedEntry):
    """What every optimiser has: its code is `function(groups, parameters)`, which returns one of torch.

    `groups` are those of torch: `params`, `lr` and `weight_decay` of each; the loop sets `lr` before each step. With
    `closure` a step is given a function that computes loss and gradients of the batch again (SAM).
    """

    key: ClassVar[str] = "optimiser"
    home: ClassVar[str] = "replicse.training.optimiser"
    closure: ClassVar[bool] = False
    optimiser: str


class AdamWParameters(OptimiserParameters):
    """AdamW as SimCSE trains with it (Loshchilov and Hutter 2019; methods 1.4)."""

    optimiser: Literal["adamw"]
    betas: tuple[Rate, Rate] = (0.9, 0.999)
    epsilon: Positive = 1e-8


class OrderParameters(NamedEntry):
    """What every order of rows has: its code is `function(data, epoch, random, parameters)`.

    It returns the row numbers of an epoch, as many as the data have; batches are read of them in turn. `data` has
    `rows`, `batch_size`, `labels` and `columns` of tokens; `random` is numpy's generator of seed and epoch.
    """

    key: ClassVar[str] = "order"
    home: ClassVar[str] = "replicse.training.orders"
    order: str

    def reads_labels(self) -> bool:
        """Return whether the corpus must have labels."""
        return False


class ShuffledOrder(OrderParameters):
    """A fresh permutation in each epoch."""

    order: Literal["shuffled"]


class SequentialOrder(OrderParameters):
    """The order of the corpus."""

    order: Literal["sequential"]


class AscendingOrder(OrderParameters):
    """A curriculum: rows by their label, or by the tokens of the first view, the lowest first."""

    order: Literal["ascending"]
    by: Literal["label", "length"]

    def reads_labels(self) -> bool:
        """Return whether it is by label."""
        return self.by == "label"


class BalancedOrder(OrderParameters):
    """Labels in turn: rows of a rare one come again, of a frequent one some are left out."""

    order: Literal["balanced"]

    def reads_labels(self) -> bool:
        """Return that it does."""
        return True


class DistinctOrder(OrderParameters):
    """A permutation without a text twice in a batch, while other rows are left."""

    order: Literal["distinct"]
