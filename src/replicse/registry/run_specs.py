"""A training as it is written: corpora, backbones and models by their names in a scale, and parts that may be absent.

What recipes, scales, protocols and requests hold. A layer is merged over another one; `runs.Run` is what it comes to.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from replicse.checked import Checked, Id, Text, UserMessage, Whole, one_of, only_with
from replicse.errors import BadInput
from replicse.registry.encoders import Architecture, Checkpoint, Family
from replicse.registry.frozen import BY_NAME, frozen_models
from replicse.registry.run_options import RunOptions, View
from replicse.registry.runs import Run
from replicse.registry.terms import Term

# What no run can do without.
PARTS = ("init", "corpus", "views", "objective")
Part = TypeVar("Part")


def _name_of(kind: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"the name of {kind}")
        return value

    return BeforeValidator(check)


def _by_name(part: Term | View, what: str) -> None:
    if folder := next((model.folder for model in frozen_models(part) if model.folder), ""):
        raise UserMessage(f'{what} names the folder "{folder}"; expected {BY_NAME}')


def _views_by_name(views: tuple[View, ...]) -> tuple[View, ...]:
    for view in views:
        _by_name(view, f"the view of {view.column}")
        if getattr(view.augment, "encoder", None):
            raise UserMessage("expected the masked-LM of an augmentation by name: backbone: NAME")
    return views


def _terms_by_name(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    for term in terms:
        _by_name(term, term.term)
    return terms


def _given(part: Part | None, name: str, where: str) -> Part:
    if part is None:
        raise BadInput(f"{where}: the run has no {name}; its recipe must give one")
    return part


CorpusName = Annotated[Id, _name_of("a corpus")]
NamedViews = Annotated[tuple[View, ...], Field(min_length=1), AfterValidator(_views_by_name)]
NamedTerms = Annotated[tuple[Term, ...], Field(min_length=1), AfterValidator(_terms_by_name)]


class FreshSpec(Checked):
    """Random weights of an architecture, a tokenizer of the scale, and how token embeddings start."""

    architecture: Architecture
    tokenizer: Annotated[Id, _name_of("a tokenizer")]
    embeddings: Literal["random", "ppmi"] = "random"


class AveragedRun(Checked):
    """Runs of a recipe that an average contains: of the run's own seed, or of `seeds` on the backbone of that seed.

    `run` changes something in them; `checkpoint` is the one that they keep unless it is given.
    """

    use: Text
    run: "RunSpec | None" = None
    checkpoint: Checkpoint | None = None
    seeds: tuple[Annotated[Whole, Field(ge=0)], ...] = ()


class InitSpec(Checked):
    """Where weights come from: exactly one source.

    A `backbone` of the scale; `use`, the end of another recipe's run of the same seed, with what `run` changes in it; a
    `hub` artefact; a `folder`, absolute or from the workspace; or `fresh`, nothing. `checkpoint` is that of the other
    run, the one it keeps unless it is given; `keep_head` continues with the heads that it saved, with a backbone's own
    pooler too; otherwise heads start again (methods 1.2). `keep_terms` continues with what terms of the
    same names trained there. `family` makes of the weights an encoder of another architecture, whose further weights
    are drawn, with `config` in its configuration. `average` is the mean of the weights of several runs (Wortsman et al.
    2022, model soups); optimisation.steps 0 evaluates it as it is.
    """

    backbone: Id | None = None
    use: Text | None = None
    average: Annotated[tuple[AveragedRun, ...], Field(min_length=1)] | None = None
    fresh: FreshSpec | None = None
    hub: Text | None = None
    folder: Text | None = None
    run: "RunSpec | None" = None
    checkpoint: Checkpoint | None = None
    keep_head: bool = False
    keep_terms: bool = False
    family: Family | None = None
    config: dict[str, Any] | None = None

    _is_one_source = one_of("backbone", "folder", "hub", "fresh", "use", "average")
    _is_of_a_run = only_with("use", "run", "checkpoint")
    _is_of_a_family = only_with("family", "config")

    @property
    def name(self) -> str:
        """Return what an error calls it."""
        return self.use or self.backbone or "an average"

    @property
    def kept(self) -> dict[str, Any]:
        """Return what a run makes of the weights, whatever they come from."""
        return {key: getattr(self, key) for key in ("keep_head", "keep_terms", "family", "config")}

    @model_validator(mode="after")
    def _keeps_what_there_is(self) -> Self:
        if self.fresh is not None and any(self.kept.values()):
            raise ValueError("keep_head, keep_terms and family only with use or backbone")
        if self.average and self.keep_terms:
            raise ValueError("keep_terms only with use: weights of terms are not averaged")
        return self

    def of_paper(self, paper: str) -> Self:
        """Return the start with recipes named by the paper that writes it, not by the one that asks for it."""

        def named(use: str) -> str:
            return use if "/" in use else f"{paper}/{use}"

        if self.use:
            return self.replace(use=named(self.use))
        if self.average:
            return self.replace(average=tuple(each.replace(use=named(each.use)) for each in self.average))
        return self


class SourceSpec(Checked):
    """What a run trains on: a corpus of the scale, the views of it, and the objective on them."""

    corpus: CorpusName
    views: NamedViews
    objective: NamedTerms


class RunSpec(RunOptions):
    """One training run, or any part of one: what a recipe does not give comes from the recipe below it.

    `beside` holds further sources: each step reads a batch of one source, all in turn, and an epoch has passed when
    the first was read once.
    """

    init: InitSpec | None = None
    corpus: CorpusName | None = None
    views: NamedViews | None = None
    objective: NamedTerms | None = None
    beside: tuple[SourceSpec, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _steps_alone(cls, value: Any) -> Any:
        """Let steps that are given without epochs replace the epochs of the layers below."""
        options = value.get("optimisation") if isinstance(value, Mapping) else None
        if not isinstance(options, Mapping) or options.get("steps") is None or "epochs" in options:
            return value
        return {**value, "optimisation": {**options, "epochs": None}}

    def start(self, where: str) -> InitSpec:
        """Return where it starts; BadInput where that is not given."""
        return _given(self.init, "init", where)

    def sources(self, where: str) -> tuple[SourceSpec, ...]:
        """Return what it trains on, its own corpus first; BadInput where a part of it is not given."""
        own = SourceSpec.model_construct(
            corpus=_given(self.corpus, "corpus", where),
            views=_given(self.views, "views", where),
            objective=_given(self.objective, "objective", where),
        )
        return (own, *self.beside)

    def definite(self, where: str, **parts: Any) -> Run:
        """Return the run with the definite parts that are given; BadInput for what it must also have."""
        return Run.of({**self.entries(), **parts}, where)


AveragedRun.model_rebuild()
InitSpec.model_rebuild()
