"""A definite run: what `compile` makes of a `RunSpec`, what jobs carry and training reads.

A run is named by the hash of everything that changes a number. What equals its default is left out of the name, so
that two spellings of one run share it and a field that is added later with a default renames nothing.
"""

from functools import cached_property
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

# Share of max_length that a sentence fills: Wikipedia sentences at 32 word pieces average about 24.
FILLED = 0.75
# Characters of English prose a word piece: chunks of two sentences of Wikipedia have 295 characters and 65 pieces.
CHARACTERS = 4.5


class Fresh(Checked):
    """Random weights of an architecture, a tokenizer's recipe, and how token embeddings start."""

    architecture: Architecture
    tokenizer: dict[str, Any]
    embeddings: Literal["random", "ppmi"] = "random"


class Init(Checked):
    """Where weights come from: a hub artefact, a folder below the data root, the id of a run, or `fresh`, nothing.

    `checkpoint` is that of the other run, the one it keeps unless it is given; `keep_head` continues with the heads
    that were saved there, `keep_terms` with what its terms of the same names trained. The weights become those of
    another `family` where one is given, with further keys of its configuration in `config`. With `average` they are the
    mean of the run's weights and those of these folders.
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
        """Return the family that it gives an encoder; None where the encoder has one already."""
        return self.fresh.architecture.family if self.fresh else self.family


class RunSource(Checked):
    """What a run trains on: a corpus as its recipe with its name in the scale, views of it, an objective on them."""

    corpus: dict[str, Any]
    views: Annotated[tuple[View, ...], Field(min_length=1)]
    objective: Annotated[tuple[Term, ...], Field(min_length=1)]

    @property
    def corpus_format(self) -> type[CorpusFormat]:
        """Return the format of its corpus; what all share where the corpus names none."""
        return CorpusFormat.known().get(str(self.corpus.get("format")), CorpusFormat)

    @property
    def labelled(self) -> bool:
        """Return whether its corpus has labels."""
        return self.corpus_format.labelled(self.corpus)

    def unfit(self, term: Term) -> str:
        """Return what a term needs of the source besides; blank where nothing is missing."""
        if missing := term.missing():
            return f"term {term.term} with {missing}"
        beyond = [view for view in term.named_views() if view >= len(self.views)]
        if beyond:
            return f"term {term.term} on views 0 to {len(self.views) - 1}, not on view {beyond[0]}"
        if term.reads_labels() and not self.labelled:
            return f"a labelled corpus for term {term.term}, not {self.corpus.get('name')}"
        return ""


class Run(RunOptions, RunSource):
    """One training run. Two tables that ask for equal runs share one folder.

    `beside` holds further sources: each step reads a batch of one source, all in turn, and an epoch has passed when
    the first was read once. The trajectory is not part of the name: keeping checkpoints changes no number.
    """

    init: Init
    beside: tuple[RunSource, ...] = ()
    seed: Annotated[Whole, Field(ge=0)] = 42
    trajectory: Trajectory = Trajectory()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        unfit = (source.unfit(term) for source in self.sources for term in source.objective)
        problem = next(filter(None, unfit), "") or self._unfit_heads() or self._unfit_momentum()
        problem = problem or self._unfit_precision()
        if self.optimisation.epochs is None and self.optimisation.steps is None:
            problem = "optimisation.steps where optimisation.epochs is null"
        if problem:
            raise ValueError(problem)
        return self

    def _unfit_heads(self) -> str:
        """Return which head the run lacks that it selects by or gives parameters for; blank where none is missing."""
        task, data = self.selection.task, self.selection.data
        if task and task not in self.heads and not (data and len(data.sentences) == 2):
            return f"a head of task {task} to select by; the terms train {sorted(self.heads)}"
        if getattr(self.head, "standout", None) and not self.trains_head:
            return "pooling.train cls-head for a head with standout"
        if self.order.reads_labels() and not all(source.labelled for source in self.sources):
            return f"a labelled corpus for order {self.order.order}, not {self.corpus.get('name')}"
        if self.freeze.but and not self.freeze.encoder:
            return "freeze: {encoder: true} for freeze.but"
        return "engine transformers for init.family" if self.init.family and self.engine == "packed" else ""

    def _unfit_momentum(self) -> str:
        """Return what the momentum encoder and the terms that read it lack; blank where they fit."""
        names = [term.term for source in self.sources for term in source.objective
                 if term.momentum_views(len(source.views))]  # fmt: skip
        if names and not self.momentum:
            return f"momentum: {{decay: ...}} for term {names[0]}, which reads a momentum encoder"
        if self.momentum and not names:
            return f"no momentum, which none of {', '.join(term.term for term in self.terms)} reads"
        return "encoders shared with momentum" if self.momentum and self.encoders == "two" else ""

    def _unfit_precision(self) -> str:
        """Return which precisions the optimiser can be used with; blank where that of the run is one."""
        optimiser = self.optimisation.optimiser
        if self.precision == "fp16" and optimiser.closure:
            return (
                f"precision fp32 or bf16 for optimiser {optimiser.optimiser}: its step computes gradients again, and"
                " loss scaling (fp16) cannot skip such a step"
            )
        return ""

    @property
    def sources(self) -> tuple[RunSource, ...]:
        """Return what the run trains on, its own corpus first."""
        return (self, *self.beside)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms of all sources."""
        return tuple(term for source in self.sources for term in source.objective)

    @property
    def row_tokens(self) -> float:
        """Return about how many tokens a text of it has: a share of the longest, fewer where its corpus says so."""
        characters = self.corpus_format.characters(self.corpus)
        return min(self.optimisation.max_length * FILLED, characters / CHARACTERS)

    def poolings(self, source: RunSource) -> tuple[Pooling, ...]:
        """Return how the vectors of each view of a source are read in training."""
        return tuple(view.pooling or self.pooling.train for view in source.views)

    @property
    def trains_head(self) -> bool:
        """Return whether vectors of some view pass through the head in training."""
        return any(pooling.head for source in self.sources for pooling in self.poolings(source))

    @property
    def heads(self) -> dict[str, TaskHead]:
        """Return the parameters of the heads that the terms train, by task."""
        return {
            term.task: head
            for term in self.terms
            if isinstance(term, LabelledParameters) and (head := term.task_head())
        }

    def canonical(self) -> dict[str, Any]:
        """Return the plain data that names the run: nothing else is hashed."""
        return {key: entry for key, entry in self.plain().items() if key != "trajectory"}

    @cached_property
    def run_id(self) -> str:
        """Return a readable prefix and 12 hexadecimal digits; safe as a path and as a wildcard."""
        terms = "-".join(term.term for term in self.objective)
        return f"{terms}-s{self.seed}-{digest(self.canonical())}"
