"""Trainings in files: names of a scale, and optional parts.

Recipes, scales, protocols and requests contain them. A layer is merged over another layer; the result is a
`runs.Run`.
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

# The required parts of a run.
PARTS = ("init", "corpus", "views", "objective")
Part = TypeVar("Part")


def _name_of(kind: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"the name of {kind}")
        return value

    return BeforeValidator(check)


def _by_name(part: Term | View, what: str) -> None:
    for model in frozen_models(part):
        if model.folder:
            raise UserMessage(f'{what} names the folder "{model.folder}"; expected {BY_NAME}')


def _views_by_name(views: tuple[View, ...]) -> tuple[View, ...]:
    for view in views:
        _by_name(view, f"the view of {view.column}")
        if getattr(view.augment, "encoder", None):
            raise UserMessage("expected the name of the masked LM of an augmentation: backbone: NAME")
    return views


def _terms_by_name(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    for term in terms:
        _by_name(term, term.term)
    return terms


def _given(part: Part | None, name: str, location: str) -> Part:
    if part is None:
        raise BadInput(f"{location}: the run does not specify {name}; add {name} to the recipe")
    return part


CorpusName = Annotated[Id, _name_of("a corpus")]
NamedViews = Annotated[tuple[View, ...], Field(min_length=1), AfterValidator(_views_by_name)]
NamedTerms = Annotated[tuple[Term, ...], Field(min_length=1), AfterValidator(_terms_by_name)]


class FreshSpec(Checked):
    """Random weights, a tokenizer of the scale, initial token embeddings.

    Attributes:
        architecture: the sizes of the encoder.
        tokenizer: a tokenizer of the scale.
        embeddings: the initial token embeddings.
    """

    architecture: Architecture
    tokenizer: Annotated[Id, _name_of("a tokenizer")]
    embeddings: Literal["random", "ppmi"] = "random"


class AveragedRun(Checked):
    """The runs of a recipe in an average.

    They use the seed of the averaging run, or `seeds`, each on the backbone of its seed.

    Attributes:
        use: the recipe.
        run: changes of the runs.
        checkpoint: the checkpoint to average. Default: the checkpoint kept by each run.
        seeds: the seeds to average. The default is the run's own seed.
    """

    use: Text
    run: "RunSpec | None" = None
    checkpoint: Checkpoint | None = None
    seeds: tuple[Annotated[Whole, Field(ge=0)], ...] = ()


class InitSpec(Checked):
    """The source of the initial weights; exactly one.

    The source is a `backbone` of the scale; `use`, the last checkpoint of another recipe's run with the same
    seed, which `run` can change; a `hub` artefact; a `folder`, absolute or relative to the workspace; `fresh`,
    random weights; or `average`, the mean of the weights of several runs (Wortsman et al. 2022, model soups),
    which optimisation.steps 0 evaluates unchanged. `checkpoint` is the checkpoint of the other run (default:
    the checkpoint that it keeps). `keep_head` keeps the saved heads, including a backbone's own pooler; by
    default heads are initialised again (methods 1.2). `keep_terms` keeps the parameters of terms with the same
    names. `family` converts the encoder to another architecture, with randomly initialised additional weights
    and with `config` in the configuration.

    Attributes:
        backbone: a backbone of the scale.
        use: the recipe whose last checkpoint with the same seed is used.
        average: the runs whose weights are averaged.
        fresh: random weights.
        hub: the hub id of an encoder.
        folder: a folder, absolute or relative to the workspace.
        run: changes of the other recipe's run.
        checkpoint: the checkpoint of the other run. The default is the one that it keeps.
        keep_head: whether saved heads are kept. By default they are initialised again.
        keep_terms: whether parameters of terms with the same names are kept.
        family: another architecture to which the encoder is converted.
        config: further keys of its configuration.
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
        """Return the name for error messages."""
        return self.use or self.backbone or "an average"

    @property
    def kept(self) -> dict[str, Any]:
        """Return the options for any source of the weights."""
        return {key: getattr(self, key) for key in ("keep_head", "keep_terms", "family", "config")}

    @model_validator(mode="after")
    def _keeps_what_there_is(self) -> Self:
        if self.fresh is not None and any(self.kept.values()):
            raise ValueError("keep_head, keep_terms and family only if use or backbone is set")
        if self.average and self.keep_terms:
            raise ValueError("keep_terms only if use is set, because weights of terms are not averaged")
        return self

    def of_paper(self, paper: str) -> Self:
        """Return the start with full names of recipes.

        Args:
            paper: The key of the paper that uses the recipes, the default paper of the names.
        """

        def named(use: str) -> str:
            return use if "/" in use else f"{paper}/{use}"

        if self.use:
            return self.replace(use=named(self.use))
        if self.average:
            average = [run.replace(use=named(run.use)) for run in self.average]
            return self.replace(average=tuple(average))
        return self


class SourceSpec(Checked):
    """A corpus of the scale, the views, and the objective on them.

    Attributes:
        corpus: the corpus, by name.
        views: the views that are encoded.
        objective: the terms of the loss.
    """

    corpus: CorpusName
    views: NamedViews
    objective: NamedTerms


class RunSpec(RunOptions):
    """A training run or parts of it; missing parts come from the base recipe.

    `beside` has further sources: each step uses a batch of one source, in turn, and an epoch ends when all rows
    of the first source were used.

    Attributes:
        init: the initial weights.
        corpus: the corpus, by name.
        views: the views that are encoded.
        objective: the terms of the loss.
        beside: further sources. Steps use the sources in turn.
    """

    init: InitSpec | None = None
    corpus: CorpusName | None = None
    views: NamedViews | None = None
    objective: NamedTerms | None = None
    beside: tuple[SourceSpec, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _steps_alone(cls, value: Any) -> Any:
        """Let steps without epochs replace the epochs of the layers below."""
        options = value.get("optimisation") if isinstance(value, Mapping) else None
        if not isinstance(options, Mapping) or options.get("steps") is None or "epochs" in options:
            return value
        return {**value, "optimisation": {**options, "epochs": None}}

    def start(self, location: str) -> InitSpec:
        """Return the source of the weights.

        Args:
            location: The location in error messages.

        Raises:
            BadInput: If it is missing.
        """
        return _given(self.init, "init", location)

    def sources(self, location: str) -> tuple[SourceSpec, ...]:
        """Return the sources, starting with the run's own corpus.

        Args:
            location: The location in error messages.

        Raises:
            BadInput: If corpus, views or objective are missing.
        """
        own = SourceSpec.model_construct(
            corpus=_given(self.corpus, "corpus", location),
            views=_given(self.views, "views", location),
            objective=_given(self.objective, "objective", location),
        )
        return (own, *self.beside)

    def definite(self, location: str, **parts: Any) -> Run:
        """Return the run with names replaced by definite parts.

        Args:
            location: The location in error messages.
            parts: The definite parts by key.

        Raises:
            BadInput: If a required part is missing.
        """
        return Run.of({**self.entries(), **parts}, location)


AveragedRun.model_rebuild()
InitSpec.model_rebuild()
