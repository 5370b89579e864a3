"""The options of a run, as written and as definite: dropout, pooling, optimisation, selection, views and the like."""

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
    """Dropout of a run. SimCSE Table 3 sets both rates of the encoder to p (methods 1.7).

    `pooled` is that of sentence vectors after their pooling (2-Tier SimCSE, methods 5); `heads` that of entire heads of
    attention (drophead, Zhou et al. 2020), which the packed engine has. `schedule: curriculum` raises all rates from 0
    to what they are: at step t of T by the factor 1 - exp(-gamma t / T) (Morerio et al. 2017).
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
        """Return whether anything is dropped, so that two passes of one text differ."""
        return any((self.hidden, self.attention, self.pooled, self.heads))

    def factor(self, progress: float) -> float:
        """Return the share of the rates at some progress of the training, from 0 at its start to 1."""
        return 1.0 if self.schedule == "constant" else 1 - math.exp(-self.gamma * progress)


class PoolingChoice(Checked):
    """How a sentence vector is read from the encoder in training and at test time.

    `selection` is how the checkpoint is selected by it, as at test time unless another way is given.
    """

    train: TrainingPooling = ClsHead(pooling="cls-head")
    test: Pooling = Cls(pooling="cls")
    selection: Pooling | None = None


class Optimisation(Checked):
    """AdamW with linear decay and no warm-up, as SimCSE's scripts run it (methods 1.4), or as the parts say.

    `decay` is the schedule of the learning rate after a `warmup` share of the steps, in which it rises from 0. `rates`
    are learning rates of parts other than `learning_rate`: the encoder, the heads, what terms train. The last layer has
    that of the encoder, each one below it, and the embeddings below all, `layer_decay` times that of the next.

    A run ends after its `epochs` or `steps`, whichever come first. Without epochs (null) it makes all its steps, in as
    many epochs as they take; a layer of a recipe that gives `steps` and no `epochs` means this. With no steps (0) the
    start is evaluated. A step reads `accumulate` batches, and its gradient is the mean of theirs: each batch has a loss
    of its own, so that in-batch negatives are those of `batch_size` rows.
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
        """Return the rows that a step reads."""
        return self.batch_size * self.accumulate

    def last_step(self, rows: int | None, sources: int = 1) -> int | None:
        """Return the steps of a run by the rows of its first source; None if neither these nor `steps` are known."""
        if rows is None or self.epochs is None:
            return self.steps
        steps = self.epochs * math.ceil(rows / self.rows_per_step) * sources
        return steps if self.steps is None else min(steps, self.steps)


class SelectionRule(Checked):
    """Which checkpoint is best: the metric on a development set, read every `every` steps (0: never).

    As in the released code of SimCSE the last step is read only where it is a multiple of `every`; `at_end` reads it
    in any case. Where nothing was read, the last checkpoint is the best. `keeps: lowest` takes the checkpoint with the
    lowest score, as a script does whose `greater_is_better` is false by mistake. A run ends after `patience` readings
    in a row that are no better than the best before them.
    """

    metric: str = "sts-dev/STS-B/all"
    every: Annotated[Whole, Field(ge=0)] = 125
    at_end: bool = False
    patience: Count | None = None
    keeps: Literal["highest", "lowest"] = "highest"
    # What the plan puts here from the scale's options: the labelled development set of a task head, or the options of
    # another suite.
    data: Labelled | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_selectable(self) -> Self:
        if not any(fnmatchcase(self.metric, path) for path in selectable(self.suite)):
            near = nearest(self.metric, selectable())
            raise UserMessage(f'metric is "{self.metric}", no number to select by{near}')
        return self

    def prefers(self, value: float, kept: float) -> bool:
        """Return whether a checkpoint with a score takes the place of the one that was kept so far."""
        return value < kept if self.keeps == "lowest" else value > kept

    @property
    def suite(self) -> str:
        """Return the name of the suite that the metric is of."""
        return self.metric.partition("/")[0]

    @property
    def task(self) -> str:
        """Return the task that the suite's options name, scored through its head; blank for a suite without heads."""
        options = current().suites[self.suite].options
        return self.metric.split("/")[1] if issubclass(options, HeadsOptions) else ""


def selectable(only: str = "") -> tuple[str, ...]:
    """Return the patterns of the numbers of an encoder without a folder, of all suites or one alone.

    Of a suite with `selects` they are the numbers of these names.
    """
    return tuple(
        f"{name}/{path}"
        for name, suite in current().suites.items()
        if only in ("", name)
        if suite.selects or "folder" not in suite.options.model_fields
        for path, limits in suite.metrics.items()
        if (path.rpartition("/")[2] in suite.selects if suite.selects else limits)
    )


class Freeze(Checked):
    """Weights of the encoder that are not trained; their dropout stays on, and networks of terms are trained.

    `encoder` is all of it but its masked-LM head: what `init.family` has added is trained, or where `but` is given, as
    [prefix, bias], the weights with one of these words in their names. The name alone stands for {encoder: true}.
    `embeddings` are the embedding layer with its normalisation, `layers` the first and the last frozen layer, counted
    from 0, negative ones from after the last: [0, -2] are all but the last.
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
        """Return the frozen ones of so many layers; BadInput where there are no such."""
        if self.layers is None:
            return range(0)
        first, last = (layer + count if layer < 0 else layer for layer in self.layers)
        if not 0 <= first <= last < count:
            raise BadInput(f"freeze.layers is {list(self.layers)}; the encoder has layers 0 to {count - 1}")
        return range(first, last + 1)


class Momentum(Checked):
    """A momentum encoder, which follows the trained one: before each step decay * itself + (1 - decay) * the other.

    It starts from the weights that the run starts from, or from random ones (as ESimCSE's code does). Its head is an
    average too, or the one that is trained. Terms read its vectors (`TermParameters.momentum_views`). With a `schedule`
    1 - decay follows it: `cosine` is that of BYOL (Grill et al. 2020, section 3.2), from decay to 1.
    """

    decay: Rate
    schedule: ScheduleParameters | None = None
    start: Literal["trained", "random"] = "trained"
    head: Literal["averaged", "trained"] = "averaged"

    def decay_at(self, step: int, steps: int) -> float:
        """Return the decay before a 0-based step of so many."""
        if self.schedule is None:
            return self.decay
        return 1 - (1 - self.decay) * self.schedule.factor(step, steps)


class Trajectory(Checked):
    """Steps whose checkpoints are kept for a figure: 0, every, 2 every, ... until (0: none), `then` some later ones."""

    every: Annotated[Whole, Field(ge=0)] = 0
    until: Annotated[Whole, Field(ge=0)] = 0
    then: tuple[Count, ...] = ()

    def steps(self) -> tuple[int, ...]:
        """Return the steps to keep, in order."""
        return tuple(sorted({*range(0, self.until + 1, self.every), *self.then})) if self.every else ()

    def joined(self, other: "Trajectory") -> "Trajectory":
        """Return a trajectory that holds the steps of both."""
        longer = max(self, other, key=lambda each: (each.until, each.every))
        regular = Trajectory(every=longer.every, until=longer.until)
        others = {*self.steps(), *other.steps()} - {*regular.steps()}
        return regular.replace(then=tuple(sorted(others)))

    def within(self, last: float) -> "Trajectory":
        """Return the trajectory of a run that ends with a step."""
        then = tuple(step for step in self.then if step <= last)
        return Trajectory(every=self.every, until=int(min(self.until, last)), then=then)


class View(Checked):
    """One column of the corpus, augmented or as it is; `pooling` reads its vectors in the place of the run's."""

    column: Id
    augment: Augmentation | None = None
    pooling: TrainingPooling | None = None

    @property
    def text(self) -> Self:
        """Return what of it is in its store: all but how it is read."""
        return self.replace(pooling=None) if self.pooling else self

    def reading(self, folder_of: Callable[[str], str]) -> Self:
        """Return the view with the folder of the masked-LM that its augmentation names, if it does."""
        name = getattr(self.augment, "backbone", None)
        if self.augment is None or name is None:
            return self
        return self.replace(augment=self.augment.replace(backbone=None, encoder=folder_of(name)))

    def augmented(self, changes: Mapping[str, Any], where: str) -> Self:
        """Return the view with other parameters of its augmentation, if it has one; BadInput for a mistake in them."""
        if not self.augment or not changes:
            return self
        return self.replace(augment=augmentation_of({**self.augment.written(), **changes}, where))


class RunOptions(Checked):
    """How a run trains, whatever it trains on. `head` is what a pooling with a head applies."""

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
