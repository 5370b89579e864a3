"""Loss terms, their inputs at a step, and objectives.

An objective is a weighted sum of terms.
"""

import inspect
import os
import traceback
from collections import Counter
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
    """The part of the model in training that terms may use.

    Attributes:
        backbone: the encoder in training.
        head: the head that is applied to sentence vectors of `backbone` if their pooling uses one.
        task_heads: heads of labelled tasks by name.
        batch_size: rows of a batch; the last batch of an epoch may have fewer.
        width: size of the sentence vectors.
    """

    backbone: Backbone
    head: SentenceHead
    task_heads: nn.ModuleDict
    batch_size: int
    width: int

    def momentum_vectors(self, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
        """Encode a batch with the momentum encoder, without gradients.

        Returns:
            The vectors, (rows, width).
        """


@dataclass(frozen=True)
class Step:
    """The inputs of the loss terms at one training step.

    Attributes:
        vectors: a (rows, width) tensor for each view, float32, or None if no term uses the view.
        columns: the packed tokens of each view.
        model: the model in training.
        generator: the source of all random numbers of the terms, on the CPU.
        given_labels: the (rows,) labels of the batch, or None if the corpus has no labels.
        poolings: the pooling of each view.
        step: the 0-based number of the step.
        steps: the number of steps of the training.
        pooled: the (rows, hidden) vectors of encoded views before head and dropout, by view, float32.
        scalars: scalar tensors by name, to which a term can add; they are kept in the history of the run, next to the
            loss of each term.
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
        """Return the completed share of the training, from 0 to 1.

        It can be used for a temperature that changes, for example.
        """
        return self.step / self.steps

    @property
    def labels(self) -> Tensor:
        """Return the (rows,) labels of the batch.

        Raises:
            BadInput: if the corpus has no labels.
        """
        if self.given_labels is None:
            raise BadInput(
                "a loss term reads labels, but the corpus has none; name a corpus of format labelled, and say so in"
                " the term's reads_labels"
            )
        return self.given_labels

    def vectors_of(self, views: Iterable[int]) -> list[Tensor]:
        """Return the sentence vectors of some views.

        Args:
            views: 0-based numbers of the views.

        Returns:
            A (rows, width) tensor for each view, float32.

        Raises:
            BadInput: if a view is not encoded, because it is not in any term's `vector_views`.
        """
        by_view = dict(enumerate(self.vectors))
        return [_require_encoded(by_view.get(view), view, len(self.vectors)) for view in views]

    def pooled_of(self, views: Iterable[int]) -> list[Tensor]:
        """Return the vectors of some views before the head.

        Args:
            views: 0-based numbers of the views.

        Returns:
            A (rows, hidden) tensor for each view, float32.

        Raises:
            BadInput: as `vectors_of`.
        """
        return [_require_encoded(self.pooled.get(view), view, len(self.vectors)) for view in views]

    def momentum_vectors(self, view: int) -> Tensor:
        """Encode a view with the momentum encoder of the run.

        Args:
            view: the 0-based number of the view.

        Returns:
            The vectors, (rows, width), float32, without gradients.

        Raises:
            BadInput: if the run has no momentum encoder, because the view is not in any term's `momentum_views`.
        """
        return self.model.momentum_vectors(self.columns[view], self.poolings[view])


def _require_encoded(vectors: Tensor | None, view: int, count: int) -> Tensor:
    if vectors is not None:
        return vectors
    if view < count:
        raise BadInput(f"a loss term reads view {view}, which is not encoded; name it in vector_views")
    raise BadInput(
        f"a loss term reads view {view} of a run with {count}; add a view, and return {view} in named_views, so that"
        " replicse validate refuses such a run"
    )


class Term(nn.Module, Generic[Parameters]):
    """Base class of loss terms.

    A term is a module that returns a scalar loss for a step. It may have weights. They are trained with the encoder and
    saved next to it, so that another run can start from them. Buffers are saved in the resume state too, but must keep
    their shape: if a buffer fills up during training, create it at full size in `prepare`.

    Args:
        parameters: the validated parameters of the term; `self.params` are their values at the current step.
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self.params = parameters

    def prepare(self, model: Model) -> None:
        """Initialise the term from the untrained model, if necessary.

        Args:
            model: the model before the first step.
        """

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Change the views before they are encoded.

        Most terms return the views unchanged.

        Args:
            columns: the packed tokens of each view.
            model: the model in training.
            generator: the source of all random numbers, on the CPU.

        Returns:
            The views to encode, as many as `columns` and with the same rows.
        """
        return columns

    def forward(self, step: Step) -> Tensor:
        """Return the loss of a step.

        Args:
            step: the inputs of the term.

        Returns:
            A scalar tensor of a floating-point dtype.
        """
        raise NotImplementedError


class Objective(nn.Module):
    """A weighted sum of terms."""

    def __init__(self, terms: Sequence[TermParameters]) -> None:
        super().__init__()
        # A ModuleList is not typed as a sequence of terms.
        self.terms = cast("Sequence[Term[Any]]", nn.ModuleList(make_term(term) for term in terms))
        self._parameters_by_name: dict[str, TermParameters] = {}
        self._texts: dict[str, str] = {}
        for name, term in named_terms([self]).items():
            self._parameters_by_name[name] = term.params
            self._texts[name] = term_text(name, term)

    def prepare(self, model: Model) -> None:
        """Initialise all terms from the untrained model."""
        for name, term in named_terms([self]).items():
            with _name_term_in_errors(name, term, "prepare"):
                term.prepare(model)

    def vector_views(self, count: int) -> list[int]:
        """Return the views whose vectors are used by any term.

        Args:
            count: the number of views of the run.

        Returns:
            The 0-based numbers of the views, in ascending order.
        """
        views: set[int] = set()
        for term in self.terms:
            views.update(term.params.vector_views(count))
        return sorted(views)

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Return the views to encode, after each term has edited them in turn."""
        for name, term in named_terms([self]).items():
            with _name_term_in_errors(name, term, "edit"):
                columns = term.edit(columns, model, generator)
        return columns

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum of the losses of the terms.

        The loss of each term is added to `step.scalars`.

        Raises:
            BadInput: with term, step and file, if the code of a term fails or returns anything but a scalar tensor.
        """
        losses, weighted = {}, []
        for name, term in named_terms([self]).items():
            with _name_term_in_errors(name, term, f"step {step.step + 1}"):
                term.params = self._parameters_by_name[name].at(step.step, step.steps)
                losses[name] = _check_loss(term(step))
                _check_scalars(step.scalars)
                weighted.append(term.params.weight_at(step.step, step.steps) * losses[name])
        step.scalars.update(losses)
        return sum(weighted)

    def named(self, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the losses of the terms by the names that errors use.

        Other scalars are left out.
        """
        return {text: losses[name] for name, text in self._texts.items()}


def named_terms(objectives: Iterable[Objective]) -> dict[str, Term[Any]]:
    """Return the terms of objectives by name.

    The second term of the same name gets the suffix -2.
    """
    named: dict[str, Term[Any]] = {}
    counts: Counter[str] = Counter()
    for objective in objectives:
        for term in objective.terms:
            name = term.params.term
            counts[name] += 1
            named[f"{name}-{counts[name]}" if counts[name] > 1 else name] = term
    return named


def term_text(name: str, term: Term[Any]) -> str:
    """Return the name of a term for errors, with the file of a plug-in.

    For example `term far-apart (plugins/far_apart.py)`.
    """
    code = _code_of(term)
    file = None if code.__module__.startswith("replicse.") else inspect.getsourcefile(code)
    return f"term {name} ({_relative_path(file)})" if file else f"term {name}"


def _code_of(term: Term[Any]) -> Callable[..., Any]:
    """Return the function or class that implements a term."""
    return term.function if isinstance(term, Loss) else type(term)


@contextmanager
def _name_term_in_errors(name: str, term: Term[Any], location: str) -> Iterator[None]:
    """Convert errors of a term's code to BadInput.

    Another try would fail in the same way. Errors for lack of memory are not converted, because another try may
    succeed.
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, Failed):
        raise
    except BadInput as error:
        raise type(error)(f"{term_text(name, term)}, {location}: {error}") from error
    except Exception as error:
        if "allocate memory" in str(error):  # on a CPU torch raises a RuntimeError
            raise
        folder = Path(inspect.getsourcefile(_code_of(term)) or "").parent
        frames = traceback.extract_tb(error.__traceback__)
        frames_of_term = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
        line = ""
        if frames_of_term:
            line = f" ({_relative_path(frames_of_term[-1].filename)}:{frames_of_term[-1].lineno})"
        problem = f"{type(error).__name__}: {one_line(error)}"
        raise BadInput(f"term {name}, {location}: {problem}{line}; fix the term") from error


def _relative_path(file: str) -> str:
    """Return a path relative to the working directory if it is inside."""
    inside = Path(file).is_relative_to(Path.cwd())
    return os.path.relpath(file) if inside else file


def _check_scalars(scalars: Mapping[str, object]) -> None:
    """Raise ValueError if a value is not a scalar tensor."""
    for name, value in scalars.items():
        if not isinstance(value, Tensor) or value.ndim:
            shown = tuple(value.shape) if isinstance(value, Tensor) else repr(value)
            raise ValueError(
                f'scalars["{name}"] is {shown}; expected a tensor of one number, without dimensions'
            )


def _check_loss(loss: object) -> Tensor:
    """Return the loss of a term; raise ValueError if it is not a scalar."""
    if not isinstance(loss, Tensor):
        raise ValueError(f"the loss is {loss!r}; return a scalar tensor")
    if loss.ndim or not loss.is_floating_point():
        kind = str(loss.dtype).removeprefix("torch.")
        raise ValueError(
            f"the loss is a tensor of {kind} of shape {tuple(loss.shape)}; return a scalar, as its mean()"
        )
    return loss


class Loss(Term[TermParameters]):
    """A term that calls a function of step and parameters and has no weights."""

    def __init__(
        self, parameters: TermParameters, function: Callable[[Step, TermParameters], Tensor]
    ) -> None:
        super().__init__(parameters)
        self.function = function

    def forward(self, step: Step) -> Tensor:
        """Return the loss that the function computes."""
        return self.function(step, self.params)


def make_term(parameters: TermParameters) -> Term[Any]:
    """Create the term for validated parameters.

    If the parameters name a function of step and parameters, the term is a `Loss`.
    """
    implementation = parameters.made_by()
    if isinstance(implementation, type):
        return implementation(parameters)
    return Loss(parameters, implementation)
