"""What every loss term sees and how an objective is composed of them."""

import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead
from replicse.encoder.pooling import SentencePooling
from replicse.errors import BadInput, Failed, one_line
from replicse.registry.terms import TermParameters

Parameters = TypeVar("Parameters", bound=TermParameters)


class Model(Protocol):
    """What a term may ask of the model in training.

    `head` is what sentence vectors of `backbone` pass through where their pooling has one; they are of `width` numbers.
    A batch has `batch_size` rows, the last one of an epoch perhaps fewer.
    """

    backbone: Backbone
    head: SentenceHead
    task_heads: nn.ModuleDict
    batch_size: int
    width: int

    def momentum_vectors(self, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
        """Return what the momentum encoder makes of a batch, (rows, width), without gradients."""


@dataclass(frozen=True)
class Step:
    """One training step: what a term may look at.

    `vectors` holds one (rows, hidden) tensor per view, float32, or None where no term reads it; `columns` the
    packed tokens of the views; `generator` draws every random choice a term makes; `given_labels` the (rows,) labels
    of the batch, None where the corpus has none; `poolings` how each view is read. It is the 0-based `step` of so many
    `steps`. `pooled` holds the vectors of encoded views before head and dropout. What is put in `scalars` by name is
    kept in the history of the run, next to the loss of each term.
    """

    vectors: Sequence[Tensor | None]
    columns: Sequence[TokenBatch]
    model: Model
    generator: torch.Generator
    given_labels: Tensor | None = None
    poolings: Sequence[SentencePooling] = ()
    step: int = 0
    steps: int = 1
    pooled: Mapping[int, Tensor] = field(default_factory=dict)
    scalars: dict[str, Tensor] = field(default_factory=dict)

    @property
    def progress(self) -> float:
        """Return the share of the training that is done, from 0 up to 1: for temperatures and margins that change."""
        return self.step / self.steps

    @property
    def labels(self) -> Tensor:
        """Return the (rows,) labels of the batch; BadInput where the corpus has none."""
        if self.given_labels is None:
            raise BadInput(
                "a loss term reads labels, but the corpus has none; name a corpus of format labelled, and say so in"
                " the term's reads_labels"
            )
        return self.given_labels

    def vectors_of(self, views: Iterable[int]) -> list[Tensor]:
        """Return the vectors of some views; BadInput where one is not encoded, as no term said that it reads it."""
        return [_encoded(dict(enumerate(self.vectors)).get(view), view, len(self.vectors)) for view in views]

    def pooled_of(self, views: Iterable[int]) -> list[Tensor]:
        """Return the vectors of some views before the head, (rows, hidden), float32; BadInput as `vectors_of`."""
        return [_encoded(self.pooled.get(view), view, len(self.vectors)) for view in views]

    def momentum_vectors(self, view: int) -> Tensor:
        """Return the vectors of a view by the run's momentum encoder, (rows, width), float32, without gradients.

        Raises BadInput where the run has none: a term that reads it says so in `momentum_views`.
        """
        return self.model.momentum_vectors(self.columns[view], self.poolings[view])


def _encoded(vectors: Tensor | None, view: int, count: int) -> Tensor:
    if vectors is not None:
        return vectors
    if view < count:
        raise BadInput(f"a loss term reads view {view}, which is not encoded; name it in vector_views")
    raise BadInput(
        f"a loss term reads view {view} of a run with {count}; add a view, and return {view} in named_views, so that"
        " replicse validate refuses such a run"
    )


class Term(nn.Module, Generic[Parameters]):
    """A loss term, made from its checked parameters: returns a scalar for a step.

    It may hold weights of its own: they are trained with the encoder, and kept next to it for a run that starts there.
    Its buffers are saved and resumed, but keep their shape: one that fills up is made at its full size in `prepare`.
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self.params = parameters

    def prepare(self, model: Model) -> None:
        """Take from the untrained model what the term starts from; most terms need nothing."""

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Return the views that are encoded; most terms leave them as they are."""
        return columns

    def forward(self, step: Step) -> Tensor:
        """Return the scalar loss of the step."""
        raise NotImplementedError


class Objective(nn.Module):
    """A weighted sum of terms."""

    def __init__(self, terms: Sequence[TermParameters]) -> None:
        super().__init__()
        # A list of modules is a sequence of them to all but its type.
        self.terms = cast("Sequence[Term[Any]]", nn.ModuleList(make_term(term) for term in terms))
        self._parameters_by_name = {name: term.params for name, term in named_terms([self]).items()}
        self._texts = {name: term_text(name, term) for name, term in named_terms([self]).items()}

    def prepare(self, model: Model) -> None:
        """Let every term take from the untrained model what it starts from."""
        for name, term in named_terms([self]).items():
            with _failing_in(name, term, "prepare"):
                term.prepare(model)

    def vector_views(self, count: int) -> list[int]:
        """Return which of `count` views some term reads as vectors, in order."""
        return sorted({view for term in self.terms for view in term.params.vector_views(count)})

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Return the views as the terms leave them before they are encoded."""
        for name, term in named_terms([self]).items():
            with _failing_in(name, term, "edit"):
                columns = term.edit(columns, model, generator)
        return columns

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum of the terms' losses, and note each of them in the step.

        Raises BadInput, with term, step and file, for an error in a term, and for a loss that is no scalar tensor.
        """
        losses, weighted = {}, []
        for name, term in named_terms([self]).items():
            with _failing_in(name, term, f"step {step.step + 1}"):
                term.params = self._parameters_by_name[name].at(step.step, step.steps)
                losses[name] = _loss(term(step))
                _check_scalars(step.scalars)
                weighted.append(term.params.weight_at(step.step, step.steps) * losses[name])
        step.scalars.update(losses)
        return sum(weighted)

    def named(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the losses of the terms among some scalars, by the term's name with the file of a plug-in."""
        return {text: losses[name] for name, text in self._texts.items()}


def named_terms(objectives: Iterable[Objective]) -> dict[str, Term[Any]]:
    """Return the terms of objectives by name; a second one of a name has a 2 after it."""
    named: dict[str, Term[Any]] = {}
    for term in (term for objective in objectives for term in objective.terms):
        name = term.params.term
        count = sum(name == other.params.term for other in named.values())
        named[f"{name}-{count + 1}" if count else name] = term
    return named


def term_text(name: str, term: Term[Any]) -> str:
    """Return a term as an error names it: `term far-apart (plugins/far_apart.py)`; no file for one of the package."""
    code = term.function if isinstance(term, Loss) else type(term)
    file = None if code.__module__.startswith("replicse.") else inspect.getsourcefile(code)
    return f"term {name} ({_from_here(file)})" if file else f"term {name}"


@contextmanager
def _failing_in(name: str, term: Term[Any], where: str) -> Iterator[None]:
    """Raise as BadInput what goes wrong in the code of a term: it would go wrong again in each further try.

    A machine that has run out of memory may have some at the next try.
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, Failed):
        raise
    except BadInput as error:
        raise type(error)(f"{term_text(name, term)}, {where}: {error}") from error
    except Exception as error:
        if "allocate memory" in str(error):  # what torch raises on a CPU is a RuntimeError
            raise
        own = Path(
            inspect.getsourcefile(term.function if isinstance(term, Loss) else type(term)) or ""
        ).parent
        frames = traceback.extract_tb(error.__traceback__)
        lines = [each for each in frames if Path(each.filename).is_relative_to(own)]
        line = f" ({_from_here(lines[-1].filename)}:{lines[-1].lineno})" if lines else ""
        problem = f"{type(error).__name__}: {one_line(error)}"
        raise BadInput(f"term {name}, {where}: {problem}{line}; fix the term") from error


def _from_here(file: str) -> str:
    """Return a file as it is from the working directory, or in full if it is elsewhere."""
    inside = Path(file).is_relative_to(Path.cwd())
    return os.path.relpath(file) if inside else file


def _check_scalars(scalars: Mapping[str, object]) -> None:
    """Raise ValueError for what a term puts among the scalars of a step and is none."""
    for name, value in scalars.items():
        if not isinstance(value, Tensor) or value.ndim:
            shown = tuple(value.shape) if isinstance(value, Tensor) else repr(value)
            raise ValueError(
                f'scalars["{name}"] is {shown}; expected a tensor of one number, without dimensions'
            )


def _loss(loss: object) -> Tensor:
    """Return the loss of a term; ValueError if it is no scalar tensor of a floating type."""
    if not isinstance(loss, Tensor):
        raise ValueError(f"the loss is {loss!r}; return a scalar tensor")
    if loss.ndim or not loss.is_floating_point():
        kind = str(loss.dtype).removeprefix("torch.")
        raise ValueError(
            f"the loss is a tensor of {kind} of shape {tuple(loss.shape)}; return a scalar, as its mean()"
        )
    return loss


class Loss(Term[TermParameters]):
    """A term that is a function of step and parameters, without weights of its own."""

    def __init__(
        self, parameters: TermParameters, function: Callable[[Step, TermParameters], Tensor]
    ) -> None:
        super().__init__(parameters)
        self.function = function

    def forward(self, step: Step) -> Tensor:
        """Return what the function returns."""
        return self.function(step, self.params)


def make_term(parameters: TermParameters) -> Term[Any]:
    """Return the loss that parameters describe: a class of their own, or a function of step and parameters."""
    made = parameters.made_by()
    return made(parameters) if isinstance(made, type) else Loss(parameters, made)
