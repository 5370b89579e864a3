"""Definite runs: the compiler creates them, jobs and trainings use them.

The id of a run is the hash of everything that changes a number. Values that equal their defaults are not part
of it, so that equal runs have the same id however they are specified, and new fields with defaults do not
change any id.
"""

from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Text, Whole, one_of, only_with
from replicse.registry.corpora import CorpusFormat
from replicse.registry.digests import digest
from replicse.registry.encoders import Architecture, Checkpoint, Family, TaskHead
from replicse.registry.frozen import FrozenModel
from replicse.registry.poolings import Pooling
from replicse.registry.run_options import RunOptions, Trajectory, View
from replicse.registry.terms import LabelledParameters, Term

# Mean sentence length as a share of max_length: Wikipedia sentences average about 24 of 32 word pieces.
FILLED = 0.75
# Characters per word piece of English prose: two sentences of Wikipedia have 295 characters and 65 word pieces.
CHARACTERS = 4.5


class Fresh(Checked):
    """Random weights, a tokenizer's recipe, and initial token embeddings.

    By default, the token embeddings are random too.
    """

    architecture: Architecture
    tokenizer: dict[str, Any]
    embeddings: Literal["random", "ppmi"] = "random"


class Init(Checked):
    """The source of the initial weights.

    It is a hub artefact, a folder below the data root, the id of a run, or `fresh`, random weights.
    `checkpoint` is the checkpoint of the other run (default: the checkpoint that it keeps). `keep_head` keeps
    the heads that were saved there, `keep_terms` the parameters of terms with the same names. `family` converts
    the weights to another architecture, with `config` in the configuration. With `average` they are the mean of
    the run's weights and the weights in these folders.
    """

    fresh: Fresh | None = None
    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None
    run: Text | None = None
    average: tuple[FrozenModel, ...] = ()
    checkpoint: Checkpoint | None = None
    keep_head: bool = False
    keep_terms: bool = False
    family: Family | None = None
    config: dict[str, Any] | None = None

    _is_one_source = one_of("hub", "folder", "run", "fresh")
    _is_of_a_run = only_with("run", "checkpoint", "average")

    @property
    def made_family(self) -> str | None:
        """Return the family of a new or converted encoder, otherwise None."""
        return self.fresh.architecture.family if self.fresh else self.family


class RunSource(Checked):
    """A corpus (the recipe, and the name in the scale), views and objective."""

    corpus: dict[str, Any]
    views: Annotated[tuple[View, ...], Field(min_length=1)]
    objective: Annotated[tuple[Term, ...], Field(min_length=1)]

    @property
    def corpus_format(self) -> type[CorpusFormat]:
        """Return the format of the corpus; the base if it specifies none."""
        return CorpusFormat.known().get(str(self.corpus.get("format")), CorpusFormat)

    @property
    def is_labelled(self) -> bool:
        """Return whether the corpus has labels."""
        return self.corpus_format.is_labelled(self.corpus)

    def unfit(self, term: Term) -> str:
        """Return an unsatisfied requirement of a term.

        Args:
            term: The term.

        Returns:
            The requirement; an empty string if the term can use the source.
        """
        if missing := term.describe_missing():
            return f"term {term.term} with {missing}"
        beyond = [view for view in term.named_views() if view >= len(self.views)]
        if beyond:
            return f"term {term.term} on views 0 to {len(self.views) - 1}, not on view {beyond[0]}"
        if term.reads_labels() and not self.is_labelled:
            return f"a labelled corpus for term {term.term}, not {self.corpus.get('name')}"
        return ""


class Run(RunOptions, RunSource):
    """A training run. Tables with equal runs share a run.

    `beside` has further sources: each step uses a batch of one source, in turn, and an epoch ends when all rows
    of the first source were used. The trajectory is not part of the id, because keeping checkpoints does not
    change numbers. The default seed is 42, the default of transformers' Trainer.
    """

    init: Init
    beside: tuple[RunSource, ...] = ()
    seed: Annotated[Whole, Field(ge=0)] = 42
    trajectory: Trajectory = Trajectory()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        problem = self._unfit_terms() or self._unfit_heads() or self._unfit_momentum()
        problem = problem or self._unfit_precision()
        if self.optimisation.epochs is None and self.optimisation.steps is None:
            problem = "optimisation.steps if optimisation.epochs is null"
        if problem:
            raise ValueError(problem)
        return self

    def _unfit_terms(self) -> str:
        """Return an unsatisfied requirement of a term, or ""."""
        for source in self.sources:
            for term in source.objective:
                if problem := source.unfit(term):
                    return problem
        return ""

    def _unfit_heads(self) -> str:
        """Return an unsatisfied requirement of selection, head or order, or ""."""
        task, data = self.selection.task, self.selection.data
        if task and task not in self.heads and not (data and len(data.sentences) == 2):
            return f"a head of task {task} to select by; the terms train {sorted(self.heads)}"
        if getattr(self.head, "standout", None) and not self.trains_head:
            return "pooling.train cls-head for a head with standout"
        if self.order.reads_labels() and not all(source.is_labelled for source in self.sources):
            return f"a labelled corpus for order {self.order.order}, not {self.corpus.get('name')}"
        if self.freeze.but and not self.freeze.encoder:
            return "freeze: {encoder: true} for freeze.but"
        return "engine transformers for init.family" if self.init.family and self.engine == "packed" else ""

    def _unfit_momentum(self) -> str:
        """Return an unsatisfied requirement of the momentum encoder, or ""."""
        names = []
        for source in self.sources:
            count = len(source.views)
            names += [term.term for term in source.objective if term.momentum_views(count)]
        if names and not self.momentum:
            return f"momentum: {{decay: ...}} for term {names[0]}, which uses a momentum encoder"
        if self.momentum and not names:
            terms = ", ".join(term.term for term in self.terms)
            return f"a run without momentum, because the terms ({terms}) do not use it"
        return "encoders shared with momentum" if self.momentum and self.encoders == "two" else ""

    def _unfit_precision(self) -> str:
        """Return the supported precisions if this one is not supported, or ""."""
        optimiser = self.optimisation.optimiser
        if self.precision == "fp16" and optimiser.closure:
            return (
                f"precision fp32 or bf16 for optimiser {optimiser.optimiser}: the step computes gradients again, and"
                " loss scaling (fp16) cannot skip such a step"
            )
        return ""

    @property
    def sources(self) -> tuple[RunSource, ...]:
        """Return the sources of the run, starting with its own corpus."""
        return (self, *self.beside)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms of all sources."""
        return tuple(chain.from_iterable(source.objective for source in self.sources))

    @property
    def row_tokens(self) -> float:
        """Return the approximate number of tokens per text.

        It is a share of the maximum length, or less if the corpus specifies the number of characters.
        """
        characters = self.corpus_format.characters(self.corpus)
        return min(self.optimisation.max_length * FILLED, characters / CHARACTERS)

    def poolings(self, source: RunSource) -> tuple[Pooling, ...]:
        """Return the pooling of each view of a source in training.

        Args:
            source: A source of the run.
        """
        return tuple(view.pooling or self.pooling.train for view in source.views)

    @property
    def trains_head(self) -> bool:
        """Return whether vectors of a view pass through the head in training."""
        poolings = chain.from_iterable(map(self.poolings, self.sources))
        return any(pooling.head for pooling in poolings)

    @property
    def heads(self) -> dict[str, TaskHead]:
        """Return a dict from tasks to the heads of the terms."""
        heads: dict[str, TaskHead] = {}
        for term in self.terms:
            head = term.task_head() if isinstance(term, LabelledParameters) else None
            if isinstance(term, LabelledParameters) and head:
                heads[term.task] = head
        return heads

    def canonical(self) -> dict[str, Any]:
        """Return the data whose hash is the id of the run."""
        return {key: entry for key, entry in self.plain().items() if key != "trajectory"}

    @cached_property
    def run_id(self) -> str:
        """Create the id: a readable prefix and 12 hexadecimal digits.

        It is safe in paths and wildcards.
        """
        terms = "-".join(term.term for term in self.objective)
        return f"{terms}-s{self.seed}-{digest(self.canonical())}"
