"""What every loss term sees and how an objective is composed of them."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from replicse.data.tokenizer import SpecialIds
from replicse.encoder.batch import TokenBatch
from replicse.encoder.checkpoints import MaskedLmHead
from replicse.encoder.transformer import TransformerEncoder
from replicse.errors import BadInput, nearest

# One file per term: the name in a spec, the module and its class.
TERMS = {
    "infonce": ("replicse.objective.infonce", "InfoNCE"),
    "mlm": ("replicse.objective.mlm", "MaskedLanguageModelling"),
    "rtd": ("replicse.objective.rtd", "ReplacedTokenDetection"),
    "conditional-mlm": ("replicse.objective.conditional_mlm", "ConditionalMaskedLanguageModelling"),
    "corrective-lm": ("replicse.objective.corrective_lm", "CorrectiveLanguageModelling"),
}


class Model(Protocol):
    """What a term may ask of the model in training."""

    encoder: TransformerEncoder
    masked_lm: MaskedLmHead | None
    special: SpecialIds

    def token_states(self, batch: TokenBatch) -> Tensor:
        """Return the last hidden states of all packed tokens, (total, hidden)."""

    def token_logits(self, states: Tensor, shortlist: Tensor | None) -> Tensor:
        """Return masked-LM logits over the vocabulary or over a shortlist of token ids."""


@dataclass(frozen=True)
class Step:
    """One training step: what a term may look at.

    `vectors` holds one (rows, hidden) tensor per view, float32, or None where no term reads it; `columns` the
    packed tokens of the views; `generator` draws every random choice a term makes.
    """

    vectors: Sequence[Tensor | None]
    columns: Sequence[TokenBatch]
    model: Model
    generator: torch.Generator


class Term(nn.Module):
    """A loss term: returns a scalar for a step.

    It may hold parameters of its own: they are trained with the encoder and forgotten with the run.
    """

    def prepare(self, model: Model) -> None:
        """Take from the untrained model what the term starts from; most terms need nothing."""

    def vector_views(self, count: int) -> Sequence[int]:
        """Return which of `count` views the term reads as vectors; all, unless it says otherwise."""
        return range(count)

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

    def __init__(self, specs: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.weights = [float(spec.get("weight", 1)) for spec in specs]
        self.terms = nn.ModuleList(make_term(spec) for spec in specs)

    def prepare(self, model: Model) -> None:
        """Let every term take from the untrained model what it starts from."""
        for term in self.terms:
            term.prepare(model)

    def vector_views(self, count: int) -> list[int]:
        """Return which of `count` views some term reads as vectors, in order."""
        return sorted({view for term in self.terms for view in term.vector_views(count)})

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Return the views as the terms leave them before they are encoded."""
        for term in self.terms:
            columns = term.edit(columns, model, generator)
        return columns

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum of the terms' losses."""
        return sum(weight * term(step) for weight, term in zip(self.weights, self.terms, strict=True))


def checked_views(views: Sequence[int], count: int, where: str) -> Sequence[int]:
    """Return `views` if all are places among `count` views; BadInput names the first that is not."""
    for view in views:
        if isinstance(view, bool) or not isinstance(view, int) or not 0 <= view < count:
            raise BadInput(f"{where} names view {view}, but the run has views 0 to {count - 1}")
    return views


def make_term(spec: Mapping[str, Any]) -> Term:
    """Return the term a spec names; BadInput names an unknown term or parameter."""
    name = str(spec.get("term", ""))
    if name not in TERMS:
        raise BadInput(f'objective: term "{name}" is unknown{nearest(name, TERMS)}')
    module, kind = TERMS[name]
    parameters = {key: value for key, value in spec.items() if key not in ("term", "weight")}
    try:
        return getattr(importlib.import_module(module), kind)(**parameters)
    except TypeError as error:
        raise BadInput(f'objective: term "{name}" does not take {sorted(parameters)}: {error}') from None
