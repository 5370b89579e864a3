"""Specs: what is trained and what is evaluated, named by the hash of everything that changes a number.

A spec is checked data; what equals its default is left out of its name, so that two spellings of one run share it
and a field that is added later with a default renames nothing.
"""

import hashlib
import json
import re
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Id, Text, Whole
from replicse.registry.augmentations import Augmentation
from replicse.registry.encoders import (
    Architecture,
    Checkpoint,
    Engine,
    Head,
    MlpHead,
    Pooling,
    Postprocessing,
    Precision,
    TaskHead,
    WordVectors,
)  # fmt: skip
from replicse.registry.runs import DropoutRates, Optimisation, PoolingChoice, SelectionRule, Trajectory
from replicse.registry.terms import Term

# One for all: thousands of names are hashed, and making an encoder takes as long as a short text.
COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any, length: int = 12) -> str:
    """Return the first hexadecimal digits of the sha256 of sorted, space-free JSON; 1.0 reads as 1."""
    return hashlib.sha256(COMPACT.encode(tidy(value)).encode()).hexdigest()[:length]


def tidy(value: Any) -> Any:
    """Return plain data with numbers in one spelling: 1.0 -> 1, 3e-5 times 10 -> 3e-4, tuples -> lists."""
    if isinstance(value, dict):
        # Most of it is text, which stays as it is.
        return {str(key): entry if type(entry) is str else tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(entry) for entry in value]
    if isinstance(value, float):
        value = float(format(value, ".12g"))
        return int(value) if value.is_integer() else value
    return value


class Fresh(Checked):
    """Random weights of an architecture, a tokenizer made for them, and how token embeddings start."""

    architecture: Architecture
    tokenizer: dict[str, Any]
    embeddings: Literal["random", "ppmi"] = "random"


class Init(Checked):
    """Where weights come from: exactly one of a hub artefact, a folder below the data root, another run, or none.

    `checkpoint` is that of the other run, the one it keeps unless it is given; `keep_head` goes on with the head
    that it saved, otherwise a head starts anew (methods 1.2).
    """

    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None
    run: Text | None = None
    fresh: Fresh | None = None
    checkpoint: Checkpoint | None = None
    keep_head: bool = False

    @model_validator(mode="after")
    def _is_one_source(self) -> Self:
        if sum(each is not None for each in (self.hub, self.folder, self.run, self.fresh)) != 1:
            raise ValueError("exactly one of hub, folder, run, fresh")
        return self


class ViewSpec(Checked):
    """One column of the corpus, augmented or as it is."""

    column: Id
    augment: Augmentation | None = None


class SourceSpec(Checked):
    """What a run trains on: a corpus, the views of it, and the objective on them."""

    corpus: dict[str, Any]
    views: Annotated[tuple[ViewSpec, ...], Field(min_length=1)]
    objective: Annotated[tuple[Term, ...], Field(min_length=1)]


class RunSpec(Checked):
    """One training run. Two tables that ask for equal specs share one folder.

    `corpus` is the recipe of a scale's corpus with its symbolic name. `beside` holds further sources: each step reads
    a batch of one source, all in turn, and an epoch has passed when the first was read once. `head` is what pooling
    "cls-head" applies.
    The trajectory is not part of the name: keeping checkpoints changes no number.
    """

    init: Init
    corpus: dict[str, Any]
    views: Annotated[tuple[ViewSpec, ...], Field(min_length=1)]
    objective: Annotated[tuple[Term, ...], Field(min_length=1)]
    beside: tuple[SourceSpec, ...] = ()
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

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        for source in self.sources:
            for term in source.objective:
                if term.missing():
                    raise ValueError(f"term {term.term} with {term.missing()}")
                beyond = [view for view in term.named_views() if view >= len(source.views)]
                if beyond:
                    raise ValueError(
                        f"term {term.term} on views 0 to {len(source.views) - 1}, not on view {beyond[0]}"
                    )
                if term.reads_labels() and source.corpus.get("format") != "labelled":
                    raise ValueError(f"a labelled corpus for term {term.term}, not {source.corpus['name']}")
        task, known = self.selection.task, self.heads
        if (
            task
            and task not in known
            and not (self.selection.data and len(self.selection.data.sentences) == 2)
        ):
            raise ValueError(f"a head of task {task} to select by; the terms train {sorted(known)}")
        if getattr(self.head, "standout", None) and self.pooling.train != "cls-head":
            raise ValueError("pooling.train cls-head for a head with standout")
        return self

    @cached_property
    def sources(self) -> tuple[SourceSpec, ...]:
        """Return what the run trains on, its own corpus first."""
        own = SourceSpec.model_construct(corpus=self.corpus, views=self.views, objective=self.objective)
        return (own, *self.beside)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms of all sources."""
        return tuple(term for source in self.sources for term in source.objective)

    @property
    def heads(self) -> dict[str, TaskHead]:
        """Return the parameters of the heads that the terms train, by task."""
        return {term.task: head for term in self.terms if (head := term.task_head())}

    def with_seed(self, seed: int) -> Self:
        """Return the same run under another seed."""
        if seed == self.seed:
            return self
        other = self.model_copy(update={"seed": seed})
        # A copy holds what was computed of the original, of which the name alone differs.
        other.__dict__.pop("run_id", None)
        return other

    def canonical(self) -> dict[str, Any]:
        """Return the plain data that names the run: nothing else is hashed."""
        return {key: entry for key, entry in self.plain().items() if key != "trajectory"}

    @cached_property
    def run_id(self) -> str:
        """Return a readable prefix and 12 hexadecimal digits; safe as a path and as a wildcard."""
        terms = "-".join(term.term for term in self.objective)
        return f"{terms}-s{self.seed}-{digest(self.canonical())}"


class EncoderSource(Checked):
    """What an encoder is made from: a run, a released artefact, a folder, word vectors, or counts of the data.

    `vectors` is the name of word vectors in the scale, `words` what they are; `data: counts` stands for numbers that
    need no encoder.
    """

    run: Text | None = None
    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None
    vectors: Text | None = None
    words: WordVectors | None = None
    data: Literal["counts"] | None = None

    @model_validator(mode="after")
    def _is_one_source(self) -> Self:
        kinds = (self.run, self.hub, self.folder, self.vectors, self.data)
        if sum(each is not None for each in kinds) != 1:
            raise ValueError("exactly one of run, hub, folder, vectors, data")
        return self

    @property
    def name(self) -> str:
        """Return the run, artefact, folder or vectors by name."""
        return self.run or self.hub or self.folder or self.vectors or "data"


class EncoderSpec(Checked):
    """What is evaluated: a source, a test-time pooling and a post-processing.

    `postprocess.fit` is the recipe of a corpus, or "target": each task's own sentences.
    """

    source: EncoderSource
    pooling: Pooling = "cls"
    checkpoint: Checkpoint = "best"
    postprocess: Postprocessing | None = None
    engine: Engine = "auto"

    def corpora(self) -> tuple[Checked, ...]:
        """Return its parts that may name something to read: a post-processing's corpus, files of word vectors."""
        return tuple(part for part in (self.postprocess, self.source.words) if part)

    @cached_property
    def encoder_id(self) -> str:
        """Return the run's name or the backbone's, the pooling, and 8 hexadecimal digits; `data` for counts."""
        if self.source.data:
            return "data"
        stem = re.sub(r"[^A-Za-z0-9]+", "-", self.source.name.rsplit("/", 1)[-1]).strip("-")
        return f"{stem}-{self.pooling}-{digest(self.plain(), 8)}"
