"""A run, one model from a recipe to a job: its names are symbols of a scale until the plan puts what they stand for.

A run is named by the hash of everything that changes a number. What equals its default is left out of the name, so
that two spellings of one run share it and a field that is added later with a default renames nothing.
"""

import math
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import (
    Checked,
    Count,
    Id,
    Number,
    Positive,
    Rate,
    Share,
    Text,
    UserMessage,
    Whole,
)
from replicse.errors import BadInput, nearest
from replicse.registry.augmentations import Augmentation, augmentation_of
from replicse.registry.corpora import CorpusFormat, Labelled
from replicse.registry.digests import digest
from replicse.registry.encoders import (
    Architecture,
    Checkpoint,
    Engine,
    Head,
    MlpHead,
    Precision,
    TaskHead,
)
from replicse.registry.frozen import BY_NAME, frozen_models
from replicse.registry.poolings import Cls, ClsHead, Pooling, TrainingPooling
from replicse.registry.suites import SUITES, HeadsOptions
from replicse.registry.terms import LabelledParameters, Term

# What no run can do without.
PARTS = ("init", "corpus", "views", "objective")
# Share of max_length that a sentence fills: Wikipedia sentences at 32 word pieces average about 24.
FILLED = 0.75
# Characters of English prose a word piece: chunks of two sentences of Wikipedia have 295 characters and 65 pieces.
CHARACTERS = 4.5
# What a scale makes definite: a name in it, or what the name stands for.
Symbol = Id
Resolved = dict[str, Any]


def symbol(value: Symbol | Resolved) -> Symbol:
    """Return what is still a name of the scale; TypeError where the plan has put there what it stands for."""
    if not isinstance(value, str):
        raise TypeError(f"{value} is no name")
    return value


def resolved(value: Symbol | Resolved) -> Resolved:
    """Return what a name stands for; TypeError where the plan has not put it there."""
    if isinstance(value, str):
        raise TypeError(f'"{value}" is a name')
    return value


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
    in any case. Where nothing was read, the last checkpoint is the best. `keeps: lowest` takes the checkpoint with the
    lowest score, as a script does whose `greater_is_better` is false by mistake.
    """

    metric: str = "sts-dev/STS-B/all"
    every: Annotated[Whole, Field(ge=0)] = 125
    at_end: bool = False
    keeps: Literal["highest", "lowest"] = "highest"
    # What the plan puts here from the scale's options: the labelled development set of a task head, or the options of
    # another suite.
    data: Labelled | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_selectable(self) -> Self:
        metrics = selectable()
        if self.metric not in metrics and not any(fnmatchcase(self.metric, path) for path in metrics):
            raise UserMessage(
                f'metric is "{self.metric}", none on development data{nearest(self.metric, metrics)}'
            )
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
        return self.metric.split("/")[1] if issubclass(SUITES[self.suite].options, HeadsOptions) else ""


def selectable() -> tuple[str, ...]:
    """Return the patterns of the metrics on development data."""
    return tuple(
        f"{name}/{path}"
        for name, suite in SUITES.items()
        if suite.selects
        for path in suite.metrics
        if path.rpartition("/")[2] in suite.selects
    )


class Freeze(Checked):
    """Weights of the encoder that are not trained; their dropout stays on, and networks of terms are trained.

    `embeddings` are the embedding layer with its normalisation, `layers` the first and the last frozen layer, counted
    from 0, negative ones from after the last: [0, -2] are all but the last.
    """

    embeddings: bool = False
    layers: tuple[Whole, Whole] | None = None

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
    average too, or the one that is trained. Terms read its vectors (`TermParameters.momentum_views`).
    """

    decay: Rate
    start: Literal["trained", "random"] = "trained"
    head: Literal["averaged", "trained"] = "averaged"


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


class Fresh(Checked):
    """Random weights of an architecture, a tokenizer made for them, and how token embeddings start."""

    architecture: Architecture
    tokenizer: Symbol | Resolved
    embeddings: Literal["random", "ppmi"] = "random"


class Init(Checked):
    """Where weights come from: exactly one source.

    As a symbol a backbone of the scale, or `use`: the end of another recipe's run of the same seed, with what `run`
    changes in it. A hub artefact, or a folder: as a person writes it, absolute or from the workspace; resolved, below
    the data root. Resolved also the id of a `run`. Or `fresh`: nothing.
    `checkpoint` is that of the other run, the one it keeps unless it is given; `keep_head` continues with the heads
    that it saved, with a backbone's own pooler too; otherwise heads start again (methods 1.2).
    """

    backbone: Symbol | None = None
    use: Text | None = None
    fresh: Fresh | None = None
    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None
    run: "Text | Run | None" = None
    checkpoint: Checkpoint | None = None
    keep_head: bool = False

    @model_validator(mode="after")
    def _is_one_source(self) -> Self:
        before = self.run if isinstance(self.run, str) else None
        resolved = (self.hub, self.folder, before)
        sources = (self.backbone, self.use, self.fresh, *resolved)
        if sum(each is not None for each in sources) != 1:
            symbols = "backbone, folder, hub, fresh, use"
            raise ValueError(f"exactly one of {'hub, folder, run, fresh' if any(resolved) else symbols}")
        changes = self.run if isinstance(self.run, Run) else None
        if self.use is None and (changes or (self.checkpoint and not before)):
            raise ValueError("run and checkpoint only with use")
        if self.fresh is not None and self.keep_head:
            raise ValueError("keep_head only with use or backbone")
        return self

    @property
    def before(self) -> str:
        """Return the id of the run that it resumes from; blank where there is none."""
        return self.run if isinstance(self.run, str) else ""


class View(Checked):
    """One column of the corpus, augmented or as it is; `pooling` reads its vectors in the place of the run's."""

    column: Id
    augment: Augmentation | None = None
    pooling: TrainingPooling | None = None

    @property
    def text(self) -> Self:
        """Return what of it is in its store: all but how it is read."""
        return self.replace(pooling=None) if self.pooling else self

    def augmented(self, changes: Mapping[str, Any], where: str) -> Self:
        """Return the view with other parameters of its augmentation, if it has one; BadInput for a mistake in them."""
        if not self.augment or not changes:
            return self
        return self.replace(augment=augmentation_of({**self.augment.given(), **changes}, where))


class Source(Checked):
    """What a run trains on: a corpus, the views of it, and the objective on them."""

    corpus: Symbol | Resolved
    views: Annotated[tuple[View, ...], Field(min_length=1)]
    objective: Annotated[tuple[Term, ...], Field(min_length=1)]


class Run(Checked):
    """One training run, or any part of one: what a recipe does not give comes from the recipe below it.

    Two tables that ask for equal runs share one folder. `corpus` is the recipe of a scale's corpus with its symbolic
    name, or that name. `beside` holds further sources: each step reads a batch of one source, all in turn, and an
    epoch has passed when the first was read once. `head` is what a pooling with a head applies.
    The trajectory is not part of the name: keeping checkpoints changes no number.
    """

    init: Init | None = None
    corpus: Symbol | Resolved | None = None
    views: Annotated[tuple[View, ...], Field(min_length=1)] | None = None
    objective: Annotated[tuple[Term, ...], Field(min_length=1)] | None = None
    beside: tuple[Source, ...] = ()
    encoders: Literal["shared", "two"] = "shared"
    dropout: DropoutRates = DropoutRates()
    pooling: PoolingChoice = PoolingChoice()
    optimisation: Optimisation = Optimisation()
    selection: SelectionRule = SelectionRule()
    trajectory: Trajectory = Trajectory()
    seed: Annotated[Whole, Field(ge=0)] = 42
    head: Head = MlpHead(kind="mlp")
    engine: Engine = "auto"
    precision: Precision = "fp32"
    freeze: Freeze = Freeze()
    momentum: Momentum | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        whole = isinstance(self.corpus, Mapping) and all(getattr(self, part) for part in PARTS)
        if whole and (problem := self.incomplete()):
            raise ValueError(problem)
        return self

    def incomplete(self) -> str:
        """Return what a resolved run must also have, or have another way; blank where it is complete."""
        if absent := next((part for part in PARTS if getattr(self, part) is None), ""):
            return f"{absent} of the run"
        problems = (problem for source in self.sources for term in source.objective
                    if (problem := _unfit(term, source)))  # fmt: skip
        if problem := next(problems, ""):
            return problem
        task, data = self.selection.task, self.selection.data
        if task and task not in self.heads and not (data and len(data.sentences) == 2):
            return f"a head of task {task} to select by; the terms train {sorted(self.heads)}"
        if getattr(self.head, "standout", None) and not self.trains_head:
            return "pooling.train cls-head for a head with standout"
        return self._unfit_momentum()

    def _unfit_momentum(self) -> str:
        """Return what the momentum encoder and the terms that read it lack; blank where they fit."""
        names = [term.term for source in self.sources for term in source.objective
                 if term.momentum_views(len(source.views))]  # fmt: skip
        if names and not self.momentum:
            return f"momentum: {{decay: ...}} for term {names[0]}, which reads a momentum encoder"
        if self.momentum and not names:
            return f"no momentum, which none of {', '.join(term.term for term in self.terms)} reads"
        return "encoders shared with momentum" if self.momentum and self.encoders == "two" else ""

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Return what the run trains on, its own corpus first."""
        main = Source.model_construct(
            corpus=self.corpus, views=self.views or (), objective=self.objective or ()
        )
        return (main, *self.beside)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms of all sources."""
        return tuple(term for source in self.sources for term in source.objective)

    @property
    def row_tokens(self) -> float:
        """Return about how many tokens a text of it has: a share of the longest, fewer where its corpus says so."""
        corpus = resolved(self.corpus or {})
        kind = CorpusFormat.known.get(corpus.get("format"), CorpusFormat)
        return min(self.optimisation.max_length * FILLED, kind.characters(corpus) / CHARACTERS)

    def poolings(self, source: Source) -> tuple[Pooling, ...]:
        """Return how the vectors of each view of a source are read in training."""
        return tuple(view.pooling or self.pooling.train for view in source.views)

    @property
    def trains_head(self) -> bool:
        """Return whether vectors of some view pass through the head in training."""
        return any(pooling.head for source in self.sources for pooling in self.poolings(source))

    @property
    def heads(self) -> dict[str, TaskHead]:
        """Return the parameters of the heads that the terms train, by task."""
        return {term.task: term.task_head() for term in self.terms if isinstance(term, LabelledParameters)}

    def canonical(self) -> dict[str, Any]:
        """Return the plain data that names the run: nothing else is hashed."""
        return {key: entry for key, entry in self.plain().items() if key != "trajectory"}

    @cached_property
    def run_id(self) -> str:
        """Return a readable prefix and 12 hexadecimal digits; safe as a path and as a wildcard."""
        terms = "-".join(term.term for term in self.objective or ())
        return f"{terms}-s{self.seed}-{digest(self.canonical())}"


def _unfit(term: Term, source: Source) -> str:
    """Return what a term needs of its source besides; blank where nothing is missing."""
    if missing := term.missing():
        return f"term {term.term} with {missing}"
    beyond = [view for view in term.named_views() if view >= len(source.views)]
    if beyond:
        return f"term {term.term} on views 0 to {len(source.views) - 1}, not on view {beyond[0]}"
    corpus = resolved(source.corpus) if term.reads_labels() else {}
    kind = CorpusFormat.known.get(corpus.get("format"), CorpusFormat)
    if term.reads_labels() and not kind.has_labels:
        return f"a labelled corpus for term {term.term}, not {corpus.get('name')}"
    return ""


def of_symbols(run: Run, beside: Collection[str] = ()) -> Run:
    """Return a run, or a part of one, that a person wrote; UserMessage where it names what only a plan knows.

    `beside` are the keys of a plan that it may give nevertheless.
    """
    if name := next((key for key in ("seed", "trajectory") if key in run.model_fields_set - set(beside)), ""):
        raise UserMessage(f'unknown key "{name}"')
    for source in run.sources:
        if problem := _resolved_in(source):
            raise UserMessage(problem)
    if run.init and (problem := _resolved_start(run.init)):
        raise UserMessage(problem)
    if run.init and isinstance(run.init.run, Run):
        of_symbols(run.init.run)
    return run


def _resolved_in(source: Source) -> str:
    """Return which name of a source is no symbol; blank where all are."""
    if isinstance(source.corpus, Mapping):
        return "corpus is a mapping; expected the name of a corpus"
    named: list[tuple[str, Checked]] = [(term.term, term) for term in source.objective]
    named += [(f"the view of {view.column}", view) for view in source.views]
    for what, part in named:
        if folder := next((model.folder for model in frozen_models(part) if model.folder), ""):
            return f'{what} names the folder "{folder}"; expected {BY_NAME}'
    if any(getattr(view.augment, "encoder", None) for view in source.views):
        return "expected the masked-LM of an augmentation by name: backbone: NAME"
    return ""


def _resolved_start(init: Init) -> str:
    """Return what of a run's start is no symbol; blank where all is."""
    keys = ["revision"] * bool(init.revision) + ["run"] * bool(init.before)
    if keys:
        return f'unknown key "{keys[0]}" in init; expected backbone, folder, hub, fresh or use'
    if init.fresh and not isinstance(init.fresh.tokenizer, str):
        return "init.fresh.tokenizer is a mapping; expected the name of a tokenizer"
    return ""


Init.model_rebuild()
