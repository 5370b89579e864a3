"""Masked language modelling.

It is used as an auxiliary term (SimCSE appendix D) and to pre-train compact encoders.
"""

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

# Shares of the chosen tokens that are masked and replaced; the rest is kept (Devlin et al. 2019).
MASKED, RANDOM = 0.8, 0.1


def choose_positions(batch: TokenBatch, special: Tensor, ratio: float, generator: torch.Generator) -> Tensor:
    """Choose the packed positions where tokens are predicted.

    Each token that is not special is chosen with probability `ratio`.

    Args:
        batch: The packed tokens.
        special: The ids of the special tokens, on the CPU.
        ratio: The probability of each token, from 0 to 1.
        generator: The random generator to use, on the CPU.

    Returns:
        The positions in ascending order, int64, on the CPU.
    """
    ordinary = ~torch.isin(batch.on_cpu, special)
    chosen = torch.rand(len(ordinary), generator=generator) < ratio
    return torch.nonzero(chosen & ordinary).squeeze(1)


def mask_tokens(
    tokens: Tensor, positions: Tensor, mask_id: int, vocabulary: int, generator: torch.Generator
) -> Tensor:
    """Copy token ids with the 80/10/10 rule applied to some positions.

    80% of the positions are masked, 10% are replaced by random tokens and 10% are kept.

    Args:
        tokens: The packed token ids, (total,).
        positions: The chosen positions, (n,), on the CPU, because counting them on a GPU would wait for the
            GPU.
        mask_id: The id of the mask token.
        vocabulary: The number of token ids.
        generator: The random generator to use, on the CPU.

    Returns:
        The token ids, (total,), on the device of `tokens`.
    """
    edited = tokens.clone()
    kind = torch.rand(len(positions), generator=generator)
    random_ids = torch.randint(vocabulary, (len(positions),), generator=generator)
    is_replaced = (kind >= MASKED) & (kind < MASKED + RANDOM)
    device = tokens.device
    masked = positions[kind < MASKED].to(device, non_blocking=True)
    replaced = positions[is_replaced].to(device, non_blocking=True)
    new_ids = random_ids[is_replaced].to(device, non_blocking=True)
    return edited.index_fill_(0, masked, mask_id).index_copy_(0, replaced, new_ids)


@dataclass(frozen=True)
class Masked:
    """A masked copy of packed tokens.

    Attributes:
        batch: The copy.
        positions: The chosen positions, (n,).
        targets: The original ids at the chosen positions, (n,).
    """

    batch: TokenBatch
    positions: Tensor
    targets: Tensor


def masked_copy(batch: TokenBatch, backbone: Backbone, ratio: float, generator: torch.Generator) -> Masked:
    """Copy a batch with a share of tokens masked by the 80/10/10 rule.

    Special tokens are never masked.

    Args:
        batch: The packed tokens, on any device.
        backbone: The encoder, for special token ids and vocabulary size.
        ratio: The share of tokens to choose, from 0 to 1.
        generator: The random generator to use, on the CPU.

    Returns:
        The masked copy, on the device of `batch`.
    """
    special, vocabulary = backbone.special, backbone.vocabulary
    positions = choose_positions(batch, torch.tensor(astuple(special)), ratio, generator)
    edited = mask_tokens(batch.tokens, positions, special.mask, vocabulary, generator)
    positions = positions.to(batch.tokens.device, non_blocking=True)
    return Masked(TokenBatch(edited, batch.offsets), positions, batch.tokens[positions])


class MaskedLanguageModelling(Term[parameters.MaskedLanguageModellingParameters]):
    """Mean cross-entropy at masked positions (methods 1.6).

    All views are masked. If `candidates` is positive, the softmax is over the targets of the batch and
    `candidates` random tokens instead of the full vocabulary. This is for pre-training small encoders on a
    CPU, because the full softmax takes most of the time there. `in_place` repeats a bug of SimCSE's code
    before November 2021: the contrastive inputs are masked too.

    Args:
        parameters: Ratio, candidates, and `in_place`.
    """

    def __init__(self, parameters: parameters.MaskedLanguageModellingParameters) -> None:
        super().__init__(parameters)
        self._masked: Masked | None = None

    def prepare(self, model: Model) -> None:
        """Initialise a masked-LM head if the encoder does not have one.

        Args:
            model: The model before the first step.
        """
        if not model.backbone.predicts_tokens:
            model.backbone.new_token_head()

    def edit(
        self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator
    ) -> Sequence[TokenBatch]:
        """Mask the views if `in_place` is set; otherwise return them unchanged.

        Args:
            columns: The packed tokens of each view.
            model: The model in training.
            generator: The random generator to use, on the CPU.
        """
        if not self.params.in_place:
            return columns
        self._masked = self._mask(columns, model, generator)
        ends = np.cumsum([column.rows for column in columns]).tolist()
        edited = []
        for end, column in zip(ends, columns, strict=True):
            edited.append(self._masked.batch.slice(end - column.rows, end))
        return edited

    def forward(self, step: Step) -> Tensor:
        """Compute the mean cross-entropy over the chosen positions of all views.

        Args:
            step: The inputs of the term.

        Returns:
            A scalar tensor, 0 if no position was chosen.
        """
        if self.params.in_place:
            masked = self._masked
            assert masked is not None
        else:
            masked = self._mask(step.columns, step.model, step.generator)
        if len(masked.positions) == 0:
            return masked.batch.tokens.new_zeros((), dtype=torch.float32)
        backbone, targets, shortlist = step.model.backbone, masked.targets, None
        states = backbone(masked.batch).last[masked.positions]
        if self.params.candidates:
            drawn = torch.randint(backbone.vocabulary, (self.params.candidates,), generator=step.generator)
            candidates = torch.cat([targets, drawn.to(targets.device)])
            shortlist, places = torch.unique(candidates, return_inverse=True)
            targets = places[: len(targets)]
        return F.cross_entropy(backbone.token_logits(states, shortlist).float(), targets)

    def _mask(self, columns: Sequence[TokenBatch], model: Model, generator: torch.Generator) -> Masked:
        return masked_copy(TokenBatch.concatenate(columns), model.backbone, self.params.ratio, generator)
