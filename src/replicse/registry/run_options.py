"""Options of a run: dropout, pooling, optimisation, selection, views, ..."""

import math
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Count, Id, Number, Positive, Rate, Share, Text, UserMessage, Whole
from replicse.errors import BadInput, nearest
from replicse.registry.augmentations import Augmentation, augmentation_of
from replicse.registry.corpora import Labelled
from replicse.registry.encoders import Engine, Head, MlpHead, Precision
from replicse.registry.poolings import Cls, ClsHead, Pooling, TrainingPooling
from replicse.registry.procedures import (
    AdamWParameters,
    LinearSchedule,
    OptimiserParameters,
    OrderParameters,
    ScheduleParameters,
    ShuffledOrder,
)
from replicse.registry.registry import current
from replicse.registry.suites import HeadsOptions


class DropoutRates(Checked):
    """Dropout of a run.

    Attributes:
        hidden: the rate of hidden states. SimCSE Table 3 sets it and `attention` to p (methods 1.7).
        attention: the rate of attention weights.
        pooled: the rate of sentence vectors after pooling (2-Tier SimCSE, methods 5).
        heads: the rate of entire attention heads (drophead, Zhou et al. 2020); only in the packed engine.
        masks: whether the views of a sentence have independent masks or the same.
        schedule: `curriculum` multiplies all rates at step t of T by 1 - exp(-gamma t / T) (Morerio et al. 2017).
        gamma: the speed of the curriculum.
    """

    hidden: Rate = 0.1
    attention: Rate = 0.1
    pooled: Rate = 0
    heads: Rate = 0
    masks: Literal["independent", "fixed"] = "independent"
    schedule: Literal["constant", "curriculum"] = "constant"
    gamma: Positive = 10

    @property
    def drawn(self) -> bool:
        """Return whether any rate is above 0, so that two passes of a text differ."""
        return any((self.hidden, self.attention, self.pooled, self.heads))

    def factor(self, progress: float) -> float:
        """Return the factor of the rates.

        Args:
            progress: The progress of the training, from 0 to 1.
        """
        return 1.0 if self.schedule == "constant" else 1 - math.exp(-self.gamma * progress)


class PoolingChoice(Checked):
    """The pooling in training and at test time.

    Attributes:
        train: the pooling in training.
        test: the pooling at test time.
        selection: the pooling for the selection of the checkpoint. The default is `test`.
    """

    train: TrainingPooling = ClsHead(pooling="cls-head")
    test: Pooling = Cls(pooling="cls")
    selection: Pooling | None = None


class Optimisation(Checked):
    """The optimiser, the learning rate, the number of steps and the batches.

    The defaults are from SimCSE's scripts: AdamW with linear decay and no warm-up (methods 1.4). The last layer has
    the encoder's learning rate; the embeddings are below all layers.

    A run ends after `epochs` or `steps`, whichever comes first. If `epochs` is null it runs all `steps`, in as
    many epochs as needed; a layer of a recipe with `steps` but without `epochs` means this. With `steps: 0` the
    start is evaluated. A step uses `accumulate` batches, and the gradient is the mean of their gradients: each
    batch has its own loss, so the in-batch negatives come from `batch_size` rows.

    Attributes:
        batch_size: the number of rows in a batch.
        learning_rate: the highest learning rate.
        epochs: the number of epochs, or null: as many as `steps` need.
        steps: the maximum number of steps.
        accumulate: the number of batches in a step.
        warmup: the share of steps in which the learning rate rises from 0.
        decay: the schedule of the learning rate after the warm-up.
        optimiser: the optimiser.
        rates: other learning rates of the encoder, the heads, or the parameters of terms.
        layer_decay: the factor of the learning rate from a layer to the layer below.
        weight_decay: the weight decay.
        clip: the maximum norm of the gradient.
        max_length: the maximum number of tokens.
    """

    batch_size: Annotated[Count, Field(ge=2)] = 64
    learning_rate: Positive = 3e-5
    epochs: Count | None = 1
    steps: Annotated[Whole, Field(ge=0)] | None = None
    accumulate: Count = 1
    warmup: Share = 0
    decay: ScheduleParameters = LinearSchedule(schedule="linear")
    optimiser: OptimiserParameters = AdamWParameters(optimiser="adamw")
    rates: dict[Literal["encoder", "head", "terms"], Positive] = {}
    layer_decay: Annotated[Number, Field(gt=0, le=1)] = 1
    weight_decay: Annotated[Number, Field(ge=0)] = 0
    clip: Positive = 1
    max_length: Annotated[Count, Field(ge=3)] = 32

    @property
    def rows_per_step(self) -> int:
        """Return the number of rows per step."""
        return self.batch_size * self.accumulate

    def last_step(self, rows: int | None, sources: int = 1) -> int | None:
        """Return the number of steps of a run, or None if it is not known.

        By default, all rows are from a single source.

        Args:
            rows: The number of rows of the first source, if known.
            sources: The number of sources, which steps use in turn.
        """
        if rows is None or self.epochs is None:
            return self.steps
        steps = self.epochs * math.ceil(rows / self.rows_per_step) * sources
        return steps if self.steps is None else min(steps, self.steps)


class SelectionRule(Checked):
    """The rule for the best checkpoint: a metric, computed every few steps.

    As in SimCSE's released code, the last step is scored only if it is a multiple of `every`. `keeps: lowest` is like a
    script whose `greater_is_better` is false by mistake.

    Attributes:
        metric: the metric path, such as `sts-dev/STS-B/all`.
        every: the number of steps between scores; 0: the last checkpoint is the best.
        at_end: whether the last step is scored in any case.
        patience: the number of consecutive scores without improvement after which a run ends.
        keeps: whether the highest or the lowest score is the best.
        data: the development dataset of a labelled task.
        options: the options of the suite.
    """

    metric: str = "sts-dev/STS-B/all"
    every: Annotated[Whole, Field(ge=0)] = 125
    at_end: bool = False
    patience: Count | None = None
    keeps: Literal["highest", "lowest"] = "highest"
    # Set by the compiler from the scale's options: the labelled development set of a task head, or the options of
    # another suite.
    data: Labelled | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_selectable(self) -> Self:
        if not any(fnmatchcase(self.metric, path) for path in selectable(self.suite)):
            near = nearest(self.metric, selectable())
            raise UserMessage(f'metric is "{self.metric}", which cannot select a checkpoint{near}')
        return self

    def prefers(self, value: float, kept: float) -> bool:
        """Return whether a score is better than the best score so far."""
        return value < kept if self.keeps == "lowest" else value > kept

    @property
    def suite(self) -> str:
        """Return the suite of the metric."""
        return self.metric.partition("/")[0]

    @property
    def task(self) -> str:
        """Return the task whose head computes the metric; "" without heads."""
        options = current().suites[self.suite].options
        return self.metric.split("/")[1] if issubclass(options, HeadsOptions) else ""


def selectable(only: str = "") -> tuple[str, ...]:
    """Return the metric patterns for the selection of a checkpoint.

    The patterns are the metrics in the suite's `selects`, or else all numbers of suites without the option
    `folder`.

    Args:
        only: The name of a suite. Default: all suites.
    """
    patterns: list[str] = []
    for name, suite in current().suites.items():
        if only not in ("", name):
            continue
        if not suite.selects and "folder" in suite.options.model_fields:
            continue
        for path, limits in suite.metrics.items():
            is_selectable = limits is not None
            if suite.selects:
                is_selectable = path.rpartition("/")[2] in suite.selects
            if is_selectable:
                patterns.append(f"{name}/{path}")
    return tuple(patterns)


class Freeze(Checked):
    """The frozen weights of the encoder.

    Their dropout stays on, and the networks of terms are trained. A file can contain `encoder` instead of {encoder:
    true}.

    Attributes:
        embeddings: whether the embedding layer and its normalisation are frozen.
        layers: the first and the last frozen layer, from 0. Negative numbers count from the end: [0, -2] is all but
            the last.
        encoder: whether all weights except the masked-LM head and the weights that `init.family` adds are frozen.
        but: words in the names of weights that are trained nevertheless, for example [prefix, bias].
    """

    embeddings: bool = False
    layers: tuple[Whole, Whole] | None = None
    encoder: bool = False
    but: tuple[Text, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {"encoder": True} if value == "encoder" else value

    def numbers(self, count: int) -> range:
        """Return the numbers of the frozen layers.

        Args:
            count: The number of layers of the encoder.

        Raises:
            BadInput: If the encoder does not have these layers.
        """
        if self.layers is None:
            return range(0)
        first, last = self.layers
        if first < 0:
            first += count
        if last < 0:
            last += count
        if not 0 <= first <= last < count:
            raise BadInput(f"freeze.layers is {list(self.layers)}; the encoder has layers 0 to {count - 1}")
        return range(first, last + 1)


class Momentum(Checked):
    """A momentum encoder: a moving average of the trained encoder.

    Before each step the weights become decay * averaged weights + (1 - decay) * trained weights. They start
    from the run's initial weights, or from random weights (ESimCSE's code). Terms use the vectors
    (`TermParameters.momentum_views`).

    Attributes:
        decay: the share of its own weights that is kept in a step.
        schedule: the schedule of 1 - decay. `cosine` is BYOL's, from decay to 1 (Grill et al. 2020, section 3.2).
        start: the initial weights: the run's, or random ones.
        head: whether the head is an average too, or the trained head.
    """

    decay: Rate
    schedule: ScheduleParameters | None = None
    start: Literal["trained", "random"] = "trained"
    head: Literal["averaged", "trained"] = "averaged"

    def decay_at(self, step: int, steps: int) -> float:
        """Compute the decay before the 0-based step `step` of `steps`."""
        if self.schedule is None:
            return self.decay
        return 1 - (1 - self.decay) * self.schedule.factor(step, steps)


class Trajectory(Checked):
    """Steps whose checkpoints are kept for a figure.

    The steps are 0, every, 2 every, ... until `until`, and the steps in `then`.

    Attributes:
        every: the number of steps between kept checkpoints; 0: no checkpoint is kept.
        until: the last step.
        then: further steps.
    """

    every: Annotated[Whole, Field(ge=0)] = 0
    until: Annotated[Whole, Field(ge=0)] = 0
    then: tuple[Count, ...] = ()

    def steps(self) -> tuple[int, ...]:
        """Return the steps to keep, in order."""
        if not self.every:
            return ()
        return tuple(sorted({*range(0, self.until + 1, self.every), *self.then}))

    def joined(self, other: "Trajectory") -> "Trajectory":
        """Return a trajectory with the steps of both.

        Args:
            other: Another trajectory.
        """
        longer = max(self, other, key=lambda each: (each.until, each.every))
        regular = Trajectory(every=longer.every, until=longer.until)
        others = {*self.steps(), *other.steps()}.difference(regular.steps())
        return regular.replace(then=tuple(sorted(others)))

    def within(self, last: float) -> "Trajectory":
        """Return the trajectory up to the last step of a run.

        Args:
            last: The last step; infinity if it is not known.
        """
        then = tuple(step for step in self.then if step <= last)
        return Trajectory(every=self.every, until=int(min(self.until, last)), then=then)


class View(Checked):
    """A column of the corpus, optionally augmented.

    `pooling` replaces the run's pooling for this view.

    Attributes:
        column: the column of the corpus.
        augment: the augmentation of the column.
        pooling: another pooling for this view.
    """

    column: Id
    augment: Augmentation | None = None
    pooling: TrainingPooling | None = None

    @property
    def text(self) -> Self:
        """Return the view without the pooling, which is not part of the store."""
        return self.replace(pooling=None) if self.pooling else self

    def reading(self, folder_of: Callable[[str], str]) -> Self:
        """Return the view with the folder of the augmentation's masked LM.

        Args:
            folder_of: A function that returns the folder of a backbone.
        """
        name = getattr(self.augment, "backbone", None)
        if self.augment is None or name is None:
            return self
        return self.replace(augment=self.augment.replace(backbone=None, encoder=folder_of(name)))

    def augmented(self, changes: Mapping[str, Any], location: str) -> Self:
        """Return the view with changed parameters of the augmentation.

        Args:
            changes: A dict from parameters to values; a view without an augmentation ignores it.
            location: The location in error messages.

        Raises:
            BadInput: If a parameter is not valid.
        """
        if not self.augment or not changes:
            return self
        return self.replace(augment=augmentation_of({**self.augment.written(), **changes}, location))


class RunOptions(Checked):
    """The options of a run, apart from the data.

    `head` is the head that poolings with a head use. By default, one shared encoder is trained in fp32, and no weight
    is frozen.

    Attributes:
        encoders: whether one encoder encodes all views (`shared`), or two are trained.
        dropout: the dropout rates.
        pooling: the poolings.
        optimisation: the optimiser, the learning rate, steps and batches.
        selection: the rule for the best checkpoint.
        head: the head that poolings with a head use.
        engine: the implementation of the encoder. `auto` uses the packed engine if it supports the encoder.
        precision: the precision of the products.
        freeze: the weights that are not trained.
        momentum: a momentum encoder.
        order: the order of the rows in an epoch.
    """

    encoders: Literal["shared", "two"] = "shared"
    dropout: DropoutRates = DropoutRates()
    pooling: PoolingChoice = PoolingChoice()
    optimisation: Optimisation = Optimisation()
    selection: SelectionRule = SelectionRule()
    head: Head = MlpHead(kind="mlp")
    engine: Engine = "auto"
    precision: Precision = "fp32"
    freeze: Freeze = Freeze()
    momentum: Momentum | None = None
    order: OrderParameters = ShuffledOrder(order="shuffled")
