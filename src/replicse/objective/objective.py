"""Objectives: weighted sums of terms, with errors that name the term."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput, Failed, line_in, one_line, relative_path
from replicse.objective.terms import Loss, Model, Step, Term, make_term
from replicse.registry.terms import TermParameters


class Objective(nn.Module):
    """A weighted sum of terms.

    Args:
        terms: A list of the parameters of each term.
    """

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
        """Initialise all terms from the untrained model.

        Args:
            model: The model before the first step.
        """
        for name, term in named_terms([self]).items():
            with _name_term_in_errors(name, term, "prepare"):
                term.prepare(model)

    def vector_views(self, count: int) -> list[int]:
        """Return the views whose vectors are used by a term.

        Args:
            count: The number of views of the run.

        Returns:
            A list of the numbers of the views, from 0, in ascending order.
        """
        views: set[int] = set()
        for term in self.terms:
            views.update(term.params.vector_views(count))
        return sorted(views)

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Return the views to encode, after each term has changed them in turn.

        Args:
            columns: A list with the packed tokens of each view.
            model: The model in training.
            generator: The random generator to use, on the CPU.
        """
        for name, term in named_terms([self]).items():
            with _name_term_in_errors(name, term, "edit"):
                columns = term.edit(columns, model, generator)
        return columns

    def forward(self, step: Step) -> Tensor:
        """Compute the weighted sum of the losses of the terms.

        The loss of each term is added to `step.scalars`.

        Args:
            step: The inputs of the terms.

        Returns:
            A scalar tensor.

        Raises:
            BadInput: If the code of a term fails or does not return a scalar tensor. The message contains
                term, step and file.
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
        """Return the losses of the terms by their names in error messages.

        Args:
            losses: A dict of scalars; only the losses of terms are returned.
        """
        return {text: losses[name] for name, text in self._texts.items()}


def named_terms(objectives: Iterable[Objective]) -> dict[str, Term[Any]]:
    """Return the terms of objectives by name.

    The second term of the same name gets the suffix -2.

    Args:
        objectives: The objectives of a run.

    Returns:
        A dict from names to terms.
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
    """Return the name of a term in errors, with the file of a plug-in.

    Args:
        name: The name of the term.
        term: The term.

    Returns:
        A string such as "term far-apart (plugins/far_apart.py)".
    """
    code = _code_of(term)
    file = None if code.__module__.startswith("replicse.") else inspect.getsourcefile(code)
    return f"term {name} ({relative_path(file)})" if file else f"term {name}"


def _code_of(term: Term[Any]) -> Callable[..., Any]:
    """Return the function or class that implements a term."""
    return term.function if isinstance(term, Loss) else type(term)


@contextmanager
def _name_term_in_errors(name: str, term: Term[Any], location: str) -> Iterator[None]:
    """Convert errors of a term's code to BadInput.

    Another try would fail in the same way. Errors for lack of memory are not converted, because another try might
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
        file = inspect.getsourcefile(_code_of(term)) or ""
        line = line_in(error, Path(file).parent)
        if not line and not _code_of(term).__module__.startswith("replicse."):
            line = relative_path(file)
        problem = f"{type(error).__name__}: {one_line(error)}"
        if line:
            problem += f" ({line})"
        raise BadInput(f"term {name}, {location}: {problem}; fix the term") from error


def _check_scalars(scalars: Mapping[str, object]) -> None:
    """Raise ValueError if a value is not a scalar tensor."""
    for name, value in scalars.items():
        if not isinstance(value, Tensor) or value.ndim:
            shown = tuple(value.shape) if isinstance(value, Tensor) else repr(value)
            raise ValueError(f'scalars["{name}"] is {shown}; expected a scalar tensor')


def _check_loss(loss: object) -> Tensor:
    """Return the loss of a term; raise ValueError if it is not a scalar."""
    if not isinstance(loss, Tensor):
        raise ValueError(f"the loss is {loss!r}; return a scalar tensor")
    if loss.ndim or not loss.is_floating_point():
        kind = str(loss.dtype).removeprefix("torch.")
        raise ValueError(
            f"the loss is a tensor of {kind} of shape {tuple(loss.shape)}; return a scalar, such as loss.mean()"
        )
    return loss
