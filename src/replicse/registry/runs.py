"""The parts of a run that stand in recipes and specs alike: dropout, pooling, optimisation, selection, trajectory."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Count, Number, Positive, Rate, Share, Told, Whole
from replicse.errors import BadInput, nearest
from replicse.registry.encoders import Pooling
from replicse.registry.suites import AGGREGATIONS, SUITES


class DropoutRates(Checked):
    """Dropout of a run. SimCSE Table 3 sets both rates to p (methods 1.7)."""

    hidden: Rate = 0.1
    attention: Rate = 0.1
    masks: Literal["independent", "fixed"] = "independent"


class PoolingChoice(Checked):
    """How a sentence vector is read from the encoder in training and at test time."""

    train: Literal["cls", "cls-head", "mean", "first-last", "first-last-0", "last2"] = "cls-head"
    test: Pooling = "cls"


class Optimisation(Checked):
    """AdamW with linear decay and no warm-up, as SimCSE's scripts run it (methods 1.4)."""

    batch_size: Annotated[Count, Field(ge=2)] = 64
    learning_rate: Positive = 3e-5
    epochs: Count = 1
    steps: Count | None = None
    warmup: Share = 0
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

    @model_validator(mode="after")
    def _is_selectable(self) -> Self:
        known = [
            f"{name}/{path}"
            for name, suite in SUITES.items()
            if suite.development
            for path in suite.metrics
            if path.rpartition("/")[2] in AGGREGATIONS
        ]
        if self.metric not in known:
            raise Told(f'metric is "{self.metric}", none on development data{nearest(self.metric, known)}')
        return self


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
