"""The parts of a run that stand in recipes and specs alike: dropout, pooling, optimisation, selection, trajectory."""

import math
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Count, Number, Positive, Rate, Share, UserMessage, Whole
from replicse.errors import BadInput, nearest
from replicse.registry.corpora import Labelled
from replicse.registry.encoders import Pooling
from replicse.registry.suites import AGGREGATIONS, SUITES, TASK_METRICS


class DropoutRates(Checked):
    """Dropout of a run. SimCSE Table 3 sets both rates of the encoder to p (methods 1.7).

    `pooled` is that of sentence vectors behind their pooling (2-Tier SimCSE, methods 5). `schedule: curriculum` raises
    all rates from 0 to what they are: at step t of T by the factor 1 - exp(-gamma t / T) (Morerio et al. 2017).
    """

    hidden: Rate = 0.1
    attention: Rate = 0.1
    pooled: Rate = 0
    masks: Literal["independent", "fixed"] = "independent"
    schedule: Literal["constant", "curriculum"] = "constant"
    gamma: Positive = 10

    def factor(self, progress: float) -> float:
        """Return the share of the rates at some progress of the training, from 0 at its start to 1."""
        return 1.0 if self.schedule == "constant" else 1 - math.exp(-self.gamma * progress)


class PoolingChoice(Checked):
    """How a sentence vector is read from the encoder in training and at test time."""

    train: Literal["cls", "cls-head", "mean", "first-last", "first-last-0", "last2"] = "cls-head"
    test: Pooling = "cls"


class Optimisation(Checked):
    """AdamW with linear decay and no warm-up, as SimCSE's scripts run it (methods 1.4); or without decay."""

    batch_size: Annotated[Count, Field(ge=2)] = 64
    learning_rate: Positive = 3e-5
    epochs: Count = 1
    steps: Count | None = None
    warmup: Share = 0
    decay: Literal["linear", "none"] = "linear"
    weight_decay: Annotated[Number, Field(ge=0)] = 0
    clip: Positive = 1
    max_length: Annotated[Count, Field(ge=3)] = 32


class SelectionRule(Checked):
    """Which checkpoint is best: the metric on a development set, read every `every` steps (0: never).

    As in the released code of SimCSE the last step is read only where it is a multiple of `every`; `at_end` reads it
    in any case. Where nothing was read, the last checkpoint is the best.
    """

    metric: str = "sts-dev/STS-B/all"
    every: Annotated[Whole, Field(ge=0)] = 125
    at_end: bool = False
    # The labelled development set of a task head, which the plan puts here from the scale's options.
    data: Labelled | None = None

    @model_validator(mode="after")
    def _is_selectable(self) -> Self:
        known = selectable()
        if self.metric not in known and not any(fnmatchcase(self.metric, path) for path in known):
            raise UserMessage(
                f'metric is "{self.metric}", none on development data{nearest(self.metric, known)}'
            )
        return self

    @property
    def task(self) -> str:
        """Return the labelled task that is scored through its head; blank where the metric is of another suite."""
        suite, task, _ = self.metric.split("/")
        return task if suite == "heads-dev" else ""


@cache
def selectable() -> tuple[str, ...]:
    """Return the patterns of the metrics on development data."""
    return tuple(
        f"{name}/{path}"
        for name, suite in SUITES.items()
        if suite.development
        for path in suite.metrics
        if path.rpartition("/")[2] in (*AGGREGATIONS, *TASK_METRICS)
    )


class Trajectory(Checked):
    """Steps whose checkpoints are kept for a figure: 0, every, 2 every, ... until (0: none)."""

    every: Annotated[Whole, Field(ge=0)] = 0
    until: Annotated[Whole, Field(ge=0)] = 0

    def steps(self) -> tuple[int, ...]:
        """Return the steps to keep, in order."""
        return tuple(range(0, self.until + 1, self.every)) if self.every else ()

    def joined(self, other: Self) -> Self:
        """Return a trajectory that holds the steps of both; BadInput when their strides differ."""
        if not self.every or not other.every:
            return self if self.every else other
        if self.every != other.every:
            raise BadInput(
                f"trajectory: two items ask one run for every {self.every} and every {other.every} steps;"
                " give them the same stride"
            )
        return type(self)(every=self.every, until=max(self.until, other.until))
