"""Masked language modelling: an auxiliary term (SimCSE appendix D) and the pre-training of compact encoders."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.objective.terms import Model, Step, Term
from replicse.registry import terms as parameters

MASKED, RANDOM = 0.8, 0.1  # the rest of the chosen tokens stays as it is (Devlin et al. 2019)


def choose_positions(batch: TokenBatch, special: Tensor, ratio: float, generator: torch.Generator) -> Tensor:
    """Return the packed positions chosen for prediction, on the CPU: each non-special token with `ratio`."""
    ordinary = ~torch.isin(batch.on_cpu, special)
    drawn = torch.rand(len(ordinary), generator=generator) < ratio
    return torch.nonzero(drawn & ordinary).squeeze(1)


def mask_tokens(
    tokens: Tensor, positions: Tensor, mask_id: int, vocabulary: int, generator: torch.Generator
) -> Tensor:
    """Return a copy of `tokens` with 80% of `positions` masked, 10% replaced at random and 10% kept.

    Positions are given and chosen on the CPU: a GPU would have to be waited for to know how many there are.
    """
    edited = tokens.clone()
    kind = torch.rand(len(positions), generator=generator)
    random_ids = torch.randint(vocabulary, (len(positions),), generator=generator)
    swapped = (kind >= MASKED) & (kind < MASKED + RANDOM)
    places = positions[kind < MASKED], positions[swapped], random_ids[swapped]
    masked, others, ids = (value.to(tokens.device, non_blocking=True) for value in places)
    return edited.index_fill_(0, masked, mask_id).index_copy_(0, others, ids)


@dataclass(frozen=True)
class Masked:
    """Masked copies of packed tokens: the edited batch, the chosen positions and the ids that were there."""

    batch: TokenBatch
    positions: Tensor
    targets: Tensor


def masked_copy(batch: TokenBatch, backbone: Backbone, ratio: float, generator: torch.Generator) -> Masked:
    """Return a copy in which a share of the non-special tokens is masked by the 80/10/10 rule."""
    special, vocabulary = backbone.special, backbone.vocabulary
    positions = choose_positions(batch, torch.tensor(astuple(special)), ratio, generator)
    edited = mask_tokens(batch.tokens, positions, special.mask, vocabulary, generator)
    positions = positions.to(batch.tokens.device, non_blocking=True)
    return Masked(TokenBatch(edited, batch.offsets), positions, batch.tokens[positions])


class MaskedLanguageModelling(Term[parameters.MaskedLanguageModellingParameters]):
    """Mean cross-entropy at the masked positions of masked copies of all views (methods 1.6).

    `candidates` > 0 replaces the full softmax by one over the batch's own targets and that many random tokens:
    for pre-training small encoders on a CPU, where the vocabulary would be most of the work. `in_place` repeats a
    bug of SimCSE's code before November 2021: the contrastive inputs are the masked ones too.
    """

    def __init__(self, parameters: parameters.MaskedLanguageModellingParameters) -> None:
        super().__init__(parameters)
        self._masked: Masked | None = None

    def prepare(self, model: Model) -> None:
        """Draw a masked-LM head where the run starts from an encoder without one."""
        if not model.backbone.predicts_tokens:
            model.backbone.new_token_head()

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Return the masked views where masking is in place; else the views as they are."""
        if not self.params.in_place:
            return columns
        self._masked = self._mask(columns, model, generator)
        ends = np.cumsum([column.rows for column in columns]).tolist()
        return [
            self._masked.batch.slice(end - column.rows, end)
            for end, column in zip(ends, columns, strict=True)
        ]

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over the chosen positions of all views."""
        masked = (
            self._masked if self.params.in_place else self._mask(step.columns, step.model, step.generator)
        )
        assert masked is not None
        if len(masked.positions) == 0:
            return masked.batch.tokens.new_zeros((), dtype=torch.float32)
        backbone, targets, shortlist = step.model.backbone, masked.targets, None
        states = backbone(masked.batch).last[masked.positions]
        if self.params.candidates:
            drawn = torch.randint(backbone.vocabulary, (self.params.candidates,), generator=step.generator)
            shortlist, places = torch.unique(
                torch.cat([targets, drawn.to(targets.device)]), return_inverse=True
            )
            targets = places[: len(targets)]
        return F.cross_entropy(backbone.token_logits(states, shortlist).float(), targets)

    def _mask(self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator) -> Masked:
        return masked_copy(TokenBatch.concatenate(columns), model.backbone, self.params.ratio, generator)
