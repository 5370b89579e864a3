"""Loss terms and their inputs at a training step."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead
from replicse.encoder.pooling import SentencePooling
from replicse.errors import BadInput
from replicse.registry.terms import TermParameters

Parameters = TypeVar("Parameters", bound=TermParameters)


class Model(Protocol):
    """The part of the model in training that terms can use.

    Attributes:
        backbone: The encoder in training.
        head: The head. It is applied to sentence vectors of `backbone` if their pooling has a head.
        task_heads: Heads of labelled tasks by name.
        batch_size: The number of rows of a batch. The last batch of an epoch can have fewer.
        width: The size of the sentence vectors.
    """

    backbone: Backbone
    head: SentenceHead
    task_heads: nn.ModuleDict
    batch_size: int
    width: int

    def momentum_vectors(self, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
        """Encode a batch with the momentum encoder, without gradients.

        Args:
            batch: The packed tokens.
            pooling: The pooling of the vectors.

        Returns:
            The vectors, (rows, width).
        """


@dataclass(frozen=True)
class Step:
    """The inputs of the loss terms at one training step.

    Attributes:
        vectors: A list with a tensor for each view, (rows, width), float32, or None if no term uses the view.
        columns: A list with the packed tokens of each view.
        model: The model in training.
        generator: The source of all random numbers of the terms, on the CPU.
        given_labels: The labels of the batch, (rows,), or None if the corpus has no labels. Default: None.
        poolings: A list with the pooling of each view.
        step: The number of the step, from 0. Default: 0.
        steps: The number of steps of the training. Default: 1.
        pooled: A dict from views to vectors before head and dropout, (rows, hidden), float32.
        scalars: A dict of scalar tensors. A term can add scalars; they are kept in the history of the run,
            next to the loss of each term.

    Examples:
        >>> views = [torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])]
        >>> step = Step(vectors=views, columns=[], model=None, generator=torch.Generator())
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

        For example, a temperature can depend on it.

        Examples:
            >>> temperature = 0.05 + 0.05 * step.progress
        """
        return self.step / self.steps

    @property
    def labels(self) -> Tensor:
        """Return the labels of the batch, (rows,).

        Raises:
            BadInput: If the corpus has no labels.

        Examples:
            >>> loss = F.cross_entropy(logits, step.labels.long())
        """
        if self.given_labels is None:
            raise BadInput(
                "a loss term uses labels, but the corpus does not contain labels; use a corpus of format labelled, and"
                " define reads_labels in the parameters of the term"
            )
        return self.given_labels

    def vectors_of(self, views: Iterable[int]) -> list[Tensor]:
        """Return the sentence vectors of some views.

        Args:
            views: Numbers of the views, from 0.

        Returns:
            A list with a tensor for each view, (rows, width), float32.

        Raises:
            BadInput: If a view is not encoded, because it is not in any term's `vector_views`.

        Examples:
            >>> anchors, positives = step.vectors_of((0, 1))
        """
        by_view = dict(enumerate(self.vectors))
        return [_require_encoded(by_view.get(view), view, len(self.vectors)) for view in views]

    def pooled_of(self, views: Iterable[int]) -> list[Tensor]:
        """Return the vectors of some views before the head.

        Args:
            views: Numbers of the views, from 0.

        Returns:
            A list with a tensor for each view, (rows, hidden), float32.

        Raises:
            BadInput: If a view is not encoded, because it is not in any term's `vector_views`.

        Examples:
            >>> (before_head,) = step.pooled_of([0])
        """
        return [_require_encoded(self.pooled.get(view), view, len(self.vectors)) for view in views]

    def momentum_vectors(self, view: int) -> Tensor:
        """Encode a view with the momentum encoder of the run.

        Args:
            view: The number of the view, from 0.

        Returns:
            The vectors, (rows, width), float32, without gradients.

        Raises:
            BadInput: If the run has no momentum encoder, because the view is not in any term's
                `momentum_views`.

        Examples:
            >>> keys = step.momentum_vectors(1)
        """
        return self.model.momentum_vectors(self.columns[view], self.poolings[view])


def _require_encoded(vectors: Tensor | None, view: int, count: int) -> Tensor:
    if vectors is not None:
        return vectors
    if view < count:
        raise BadInput(f"a loss term uses view {view}, which is not encoded; add it to vector_views")
    raise BadInput(
        f"a loss term uses view {view} of a run with {count} views; add a view, and return {view} in named_views, so"
        " that replicse validate reports such runs"
    )


class Term(nn.Module, Generic[Parameters]):
    """Base class of loss terms.

    A term is a module that returns a scalar loss for a step. It can have weights, which are trained with the
    encoder and saved next to it, so that another run can start from them. Buffers are saved in the resume
    state too, but must keep their shape: if a buffer fills up during training, create it at full size in
    `prepare`.

    Args:
        parameters: The validated parameters of the term. `self.params` are their values at the current step.

    Examples:
        >>> class Alignment(Term[AlignmentParameters]):
        ...     def forward(self, step):
        ...         first, second = step.vectors_of((0, 1))
        ...         return self.params.weight * (first - second).square().sum(1).mean()
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self.params = parameters

    def prepare(self, model: Model) -> None:
        """Initialise the term from the untrained model, if necessary.

        Args:
            model: The model before the first step.

        Examples:
            >>> def prepare(self, model):
            ...     self.register_buffer("queue", torch.zeros(self.params.size, model.width))
        """

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Change the views before they are encoded.

        Most terms return the views unchanged.

        Args:
            columns: A list with the packed tokens of each view.
            model: The model in training.
            generator: The source of all random numbers, on the CPU.

        Returns:
            A list with the views to encode, as many as `columns` and with the same rows.

        Examples:
            >>> def edit(self, columns, model, generator):
            ...     return [columns[0], *columns[:-1]]
        """
        return columns

    def forward(self, step: Step) -> Tensor:
        """Compute the loss of a step.

        Args:
            step: The inputs of the term.

        Returns:
            A scalar tensor of a floating-point dtype.

        Raises:
            NotImplementedError: If the subclass does not define the method.

        Examples:
            >>> loss = term(step)
            >>> loss.ndim
            0
        """
        raise NotImplementedError


class Loss(Term[TermParameters]):
    """A term that calls a function of step and parameters and has no weights.

    Args:
        parameters: The validated parameters of the term.
        function: A function of step and parameters that returns a scalar tensor.
    """

    def __init__(
        self, parameters: TermParameters, function: Callable[[Step, TermParameters], Tensor]
    ) -> None:
        super().__init__(parameters)
        self.function = function

    def forward(self, step: Step) -> Tensor:
        """Compute the loss of a step with the function.

        Args:
            step: The inputs of the term.
        """
        return self.function(step, self.params)


def make_term(parameters: TermParameters) -> Term[Any]:
    """Create the term for validated parameters.

    Args:
        parameters: The parameters of a term.

    Returns:
        The term. It is a `Loss` if the implementation is a function.
    """
    implementation = parameters.made_by()
    if isinstance(implementation, type):
        return implementation(parameters)
    return Loss(parameters, implementation)
