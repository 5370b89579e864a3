"""Recipes of runs, requests for encoders, and searches over settings."""

import operator
import random
import re
import typing
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from replicse.checked import Checked, Count, Id, Number, Positive, Text, UserMessage, Whole, one_of
from replicse.errors import check_known, nearest
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.digests import digest
from replicse.registry.encoders import Checkpoint, Engine, Postprocessing, WordVectors
from replicse.registry.poolings import Cls, Pooling
from replicse.registry.run_options import (
    DropoutRates,
    Freeze,
    Momentum,
    Optimisation,
    PoolingChoice,
    SelectionRule,
)
from replicse.registry.run_specs import RunSpec
from replicse.registry.terms import TermParameters

# The sources of an encoder. A layer that names a source removes the sources of lower layers.
SOURCES = ("use", "backbone", "released", "vectors", "folder", "hub")
PRIMES = (2, 3, 5, 7, 11, 13)  # bases of the Halton sequence, one for each domain


class Recipe(RunSpec):
    """A named template of runs.

    `like` is the recipe that it extends, as `recipe` or `paper/recipe`.

    Attributes:
        like: the recipe that this recipe extends, as `recipe` or `paper/recipe`.
    """

    like: Text | None = None


class Vary(Checked):
    """Changes of all views and terms of a run.

    Parameters are changed, or both sides are augmented.

    Attributes:
        augment: keys to change in the augmentation of all views.
        terms: keys to change in the terms of the objective, by name.
        both_sides: whether the augmentation is applied to all views instead of one.
    """

    augment: dict[str, Any] = {}
    terms: Annotated[dict[str, dict[str, Any]], TermParameters.check_changes("term")] = {}
    both_sides: bool = False

    @field_validator("augment")
    @classmethod
    def _are_keys(cls, value: dict[str, Any]) -> dict[str, Any]:
        kinds = AugmentationParameters.known().values()
        keys = {key for kind in kinds for key in kind.model_fields}
        for key in value:
            check_known(key, keys, f'"{key}" is not a key of an augmentation', UserMessage)
        fitting = [kind for kind in kinds if set(value) <= set(kind.model_fields)]
        problems = [kind.problem(value, partly=True) for kind in fitting]
        if all(problems):
            raise UserMessage(
                problems[0] if problems else f"{', '.join(value)} are not keys of the same augmentation"
            )
        return value


def _term_problem(name: str, parameters: dict[str, Any]) -> str:
    """Return the problem of parameters of a term; empty if they are valid."""
    return TermParameters.known()[name].problem({"term": name, **parameters}, partly=True)


SECTIONS: dict[str, type[Checked]] = {
    "dropout": DropoutRates,
    "pooling": PoolingChoice,
    "optimisation": Optimisation,
    "selection": SelectionRule,
    "freeze": Freeze,
    "momentum": Momentum,
}


def run_path_problem(path: str) -> str:
    """Check a path into a run.

    Args:
        path: `section.key` or `terms.TERM.key`.

    Returns:
        The expected form with a suggestion; an empty string if the path is valid.
    """
    section, *rest = path.split(".")
    if section == "terms" and len(rest) == 2:
        name, key = rest
        terms = TermParameters.known()
        names = list(terms[name].model_fields if name in terms else terms)
        if name in terms and key in names:
            return ""
        return f"section.key or terms.TERM.key{nearest(rest[-1], names)}"
    paths = [f"{name}.{key}" for name, kind in SECTIONS.items() for key in kind.model_fields]
    if path in paths:
        return ""
    return f"section.key or terms.TERM.key of a run{nearest(path, paths)}"


def run_value_problem(path: str, value: Any) -> str:
    """Check a path into a run and a value.

    Args:
        path: `section.key` or `terms.TERM.key`.
        value: the value at the path.

    Returns:
        The problem; an empty string if both are valid.
    """
    wrong = run_path_problem(path)
    if wrong:
        return f"expected {wrong}"
    *section, key = path.split(".")
    if section[0] == "terms":
        return _term_problem(section[1], {key: value})
    return SECTIONS[section[0]].problem({key: value}, partly=True)


def _fits_a_run(grid: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    for path, values in grid.items():
        for value in values:
            if problem := run_value_problem(path, value):
                raise UserMessage(f'"{path}": {problem}')
    return grid


# Values by path into a run.
Grid = Annotated[dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]], AfterValidator(_fits_a_run)]


class Domain(Checked):
    """The domain of a random number.

    The domain is uniform or log-uniform between two bounds, or a list of values.

    Attributes:
        uniform: the lower and the upper bound of a uniform distribution.
        log-uniform: the bounds of a distribution that is uniform in the logarithm.
        choice: the list of values.
    """

    uniform: tuple[Number, Number] | None = None
    log_uniform: tuple[Positive, Positive] | None = Field(None, alias="log-uniform")
    choice: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None

    _is_one_domain = one_of("uniform", "log_uniform", "choice")

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.choice is None and operator.ge(*self.ends):
            raise ValueError("two bounds in ascending order")
        return self

    @property
    def ends(self) -> tuple[Any, ...]:
        """Return the bounds, or all values of a choice."""
        return self.uniform or self.log_uniform or self.choice or ()

    def at(self, place: float) -> Any:
        """Compute the value at a position in the domain.

        Numbers are rounded to three digits, so that names of runs are readable.

        Args:
            place: the position in [0, 1).
        """
        if self.choice:
            return self.choice[int(place * len(self.choice))]
        low, high = self.ends
        number = low + (high - low) * place
        if self.log_uniform:
            number = low * (high / low) ** place
        return float(format(number, ".3g"))


def _fit_a_run(domains: dict[str, Domain]) -> dict[str, Domain]:
    _fits_a_run({path: domain.ends for path, domain in domains.items()})
    return domains


class Draw(Checked):
    """A random search: a rotated Halton sequence in the domains.

    The keys of the domains are paths into the run.

    The sequence equals scipy.stats.qmc.Halton without scrambling. It is computed here because importing scipy.stats
    takes as long as compiling a study, and because the name of a run should not change with a library.

    Attributes:
        jobs: the number of jobs.
        seed: the seed of the sequence.
        domains: the domain of each value, by its path in the run.
    """

    jobs: Count
    seed: Annotated[Whole, Field(ge=0)] = 0
    domains: Annotated[
        dict[str, Domain], Field(min_length=1, max_length=len(PRIMES)), AfterValidator(_fit_a_run)
    ]

    def list_values(self, most: int | None = None) -> list[dict[str, Any]]:
        """Create the values of each job by path.

        Args:
            most: the maximum number of jobs; the values of a job do not depend on it. Default: all jobs.

        Returns:
            A list with a dict from paths to values for each job.
        """
        generator = random.Random(self.seed)
        shifts = [generator.random() for _ in self.domains]
        jobs = []
        for job in range(min(self.jobs, most or self.jobs)):
            values = {}
            for (path, domain), base, shift in zip(self.domains.items(), PRIMES, shifts, strict=False):
                values[path] = domain.at((_radical_inverse(job, base) + shift) % 1)
            jobs.append(values)
        return jobs


def _radical_inverse(number: int, base: int) -> float:
    """Return the radical inverse: 6 is 110 in base 2, the inverse is 0.011."""
    mirrored, scale = 0.0, 1.0
    while number:
        number, digit = divmod(number, base)
        scale /= base
        mirrored += digit * scale
    return mirrored


class EncoderRequest(Checked):
    """A layer of the request for the encoder of a cell.

    The source is a recipe whose runs are trained (`use`), a backbone, a released checkpoint, word vectors, or a user's
    encoder at every scale: a `folder`, absolute or relative to the workspace, or a `hub` id (`name/model[@revision]`).
    A user's encoder has the default pooling of its library unless `pooling` is specified. The request is resolved to
    an `Encoder` for each seed, and for each job of a search.

    `grid` trains a run for every combination of values, `draw` for each job of a random search; their keys are paths
    into the run.

    Attributes:
        use: the recipe whose run is trained, as `recipe` or `paper/recipe`.
        backbone: a backbone of the scale, without training.
        released: a released checkpoint of the scale.
        vectors: word vectors of the scale.
        folder: a folder with your own encoder, absolute or relative to the workspace.
        hub: your own encoder as a hub id, `name/model[@revision]`.
        run: changes of the run that the recipe describes.
        vary: changes of all views or terms of the run.
        grid: lists of values by path in the run. A run is trained for each combination.
        draw: a random search.
        pooling: the pooling at test time.
        checkpoint: the checkpoint to evaluate: `best`, `last` or a step.
        postprocess: a post-processing of the vectors, such as whitening.
        engine: the implementation of the encoder. `auto` uses the packed engine if it supports the encoder.
    """

    use: Text | None = None
    backbone: Id | None = None
    released: Id | None = None
    vectors: Id | None = None
    folder: Text | None = None
    hub: Text | None = None
    run: RunSpec | None = None
    vary: Vary | None = None
    grid: Grid | None = None
    draw: Draw | None = None
    pooling: Pooling | None = None
    checkpoint: Checkpoint | None = None
    postprocess: Postprocessing | None = None
    engine: Engine | None = None

    @property
    def varied(self) -> tuple[str, ...]:
        """Return the paths that a search varies; empty if this is not a search."""
        domains = self.draw.domains if self.draw else None
        return (*(self.grid or {}), *(domains or {}))

    @model_validator(mode="after")
    def _is_unambiguous(self) -> Self:
        named = [key for key in SOURCES if getattr(self, key) is not None]
        if len(named) > 1:
            raise ValueError(f"a single source ({', '.join(SOURCES)}), not {' and '.join(named)}")
        if self.grid and self.draw:
            raise ValueError("grid or draw, not both")
        if self.postprocess and not isinstance(self.postprocess.fit, str):
            raise UserMessage('postprocess.fit is a dict; expected the name of a corpus, or "target"')
        return self


class PlannedRequest(EncoderRequest):
    """A request with fields for the compiler.

    `stages` contains the changes of a protocol in the runs of a chain, by recipe; `backbone_seed` is the seed of the
    backbone, by default the seed of the run.
    """

    stages: dict[str, EncoderRequest] = {}
    backbone_seed: int | None = None


class EncoderSource(Checked):
    """The source of an encoder.

    A source is a run, a released artefact, a folder, word vectors, or counts of datasets. `vectors` is the name of
    word vectors in the scale, `words` their definition; `data: counts` means numbers that do not depend on an encoder.
    """

    run: Text | None = None
    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None
    vectors: Text | None = None
    words: WordVectors | None = None
    data: typing.Literal["counts"] | None = None

    _is_one_source = one_of("run", "hub", "folder", "vectors", "data")

    @property
    def name(self) -> str:
        """Return the name of the run, artefact, folder or vectors."""
        return self.run or self.hub or self.folder or self.vectors or "data"


class Encoder(Checked):
    """An encoder to evaluate: source, test-time pooling, post-processing.

    `postprocess.fit` is the recipe of a corpus, or "target": each task's own sentences. By default, the vector is
    the last hidden state of the first token, and the checkpoint is the best.
    """

    source: EncoderSource
    pooling: Pooling = Cls(pooling="cls")
    checkpoint: Checkpoint = "best"
    postprocess: Postprocessing | None = None
    engine: Engine = "auto"

    def corpora(self) -> tuple[Checked, ...]:
        """Return the parts with names of files.

        The parts are the corpus of a post-processing, and word vectors.
        """
        return tuple(part for part in (self.postprocess, self.source.words) if part)

    @cached_property
    def encoder_id(self) -> str:
        """Return the id of the encoder.

        The id is the name of the run or backbone, the pooling, and 8 hexadecimal digits; for counts it is `data`.
        """
        if self.source.data:
            return "data"
        stem = re.sub(r"[^A-Za-z0-9]+", "-", self.source.name.rsplit("/", 1)[-1]).strip("-")
        return f"{stem}-{self.pooling.pooling}-{digest(self.plain(), 8)}"
