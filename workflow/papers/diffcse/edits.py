"""Edits of sentences by a frozen masked-LM, with token labels.

The labels mark replaced, inserted or deleted tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput
from replicse.objective.frozen import open_frozen
from replicse.objective.mlm import masked_copy

from .method import Rewriting

# The number of tokens whose logits are computed at once; this many logits fit into the cache of a CPU.
_CHUNK = 256


class Generator:
    """A frozen masked-LM with dropout (methods 4.1).

    In the released code the generator is part of the model, so training mode also enables dropout in the generator.
    Here it is not a torch module, so that neither the optimiser nor the resume state contains it.

    Args:
        rewriting: The parameters of the term.
        trained: The encoder in training.

    Raises:
        BadInput: If the term has no generator, if the generator has no masked-LM head, or if `open_frozen` cannot load
            it.
    """

    def __init__(self, rewriting: Rewriting, trained: Backbone) -> None:
        if rewriting.generator is None:
            raise BadInput(f"{rewriting.term} does not have a generator; specify a masked-LM")
        self.backbone, self.choice = open_frozen(rewriting.generator, trained).train(), rewriting.choice
        if not self.backbone.predicts_tokens:
            raise BadInput(
                f"{rewriting.generator.folder}: the generator does not have a masked-LM head; use a masked-LM"
            )

    @torch.no_grad()
    def __call__(self, batch: TokenBatch, positions: Tensor | None, generator: torch.Generator) -> Tensor:
        """Predict token ids of a batch.

        Args:
            batch: The packed tokens.
            positions: The packed positions to predict, (n,), or None for all positions.
            generator: The source of random numbers.

        Returns:
            The token ids, (n,).
        """
        states = self.backbone(batch).last
        if positions is not None:
            states = states[positions]
        ids = [self._choose_tokens(part, generator) for part in states.split(_CHUNK)]
        return torch.cat(ids) if ids else batch.tokens[:0]

    def _choose_tokens(self, states: Tensor, generator: torch.Generator) -> Tensor:
        # Use single precision: in half precision close logits can be equal, and a tie could replace a token.
        with torch.autocast(states.device.type, enabled=False):
            logits = self.backbone.token_logits(states.float())
        if self.choice == "argmax":
            return logits.argmax(dim=1)
        cumulative = logits.softmax(dim=1).cumsum(dim=1)
        points = (
            torch.rand(len(cumulative), 1, generator=generator).to(cumulative.device) * cumulative[:, -1:]
        )
        return torch.searchsorted(cumulative, points, right=True).squeeze(1)


@dataclass(frozen=True)
class Edited:
    """Edited sentences with token labels.

    Attributes:
        batch: The packed tokens of the edited sentences.
        labels: The label of each token, 0 or 1, (total,).
    """

    batch: TokenBatch
    labels: Tensor


def replace(
    batch: TokenBatch, rewriting: Rewriting, generator: Generator, backbone: Backbone, random: torch.Generator
) -> Edited:
    """Mask a share of the tokens and replace them by predicted tokens.

    Changed tokens have label 1. If `rewriting.places` is "all", as in the released code, the generator predicts every
    token, so that unmasked tokens and even [SEP] can be replaced. Position 0 is never replaced (methods 4.1).

    Args:
        batch: The packed tokens of the sentences.
        rewriting: The parameters of the term: the share of masked tokens, and the positions to replace.
        generator: The masked-LM.
        backbone: The encoder in training, for the special tokens.
        random: The source of random numbers.
    """
    masked = masked_copy(batch, backbone, rewriting.ratio, random)
    if rewriting.places == "all":
        tokens = generator(masked.batch, None, random)
    else:
        predicted = generator(masked.batch, masked.positions, random)
        tokens = batch.tokens.index_copy(0, masked.positions, predicted)
    tokens = tokens.index_fill(0, batch.first, backbone.special.cls)
    return Edited(TokenBatch(tokens, batch.offsets), (tokens != batch.tokens).long())


def insert(
    batch: TokenBatch, ratio: float, generator: Generator, backbone: Backbone, random: torch.Generator
) -> Edited:
    """Insert predicted tokens at random positions of each sentence.

    Inserted tokens have label 1. All positions between the first and the last special token are equally likely. The
    paper does not specify whether the other tokens change; here they are kept.

    Args:
        batch: The packed tokens of the sentences.
        ratio: The number of inserted tokens as a share of the tokens that are not special. It is rounded, and at least
            1 if there are such tokens.
        generator: The masked-LM that predicts the inserted tokens.
        backbone: The encoder in training, for the mask token.
        random: The source of random numbers.
    """
    inside = (batch.lengths - 2).clamp(min=0)
    more = torch.where(inside > 0, (inside * ratio).round().long().clamp(min=1), 0)
    offsets = torch.cat([more.new_zeros(1), (batch.lengths + more).cumsum(0)])
    chosen = []
    rows = zip(offsets[:-1].tolist(), (inside + more).tolist(), more.tolist(), strict=True)
    for start, free, count in rows:
        chosen.append(start + 1 + torch.randperm(free, generator=random)[:count])
    positions = torch.cat(chosen).sort().values.to(batch.tokens.device)
    is_original = torch.ones(int(offsets[-1]), dtype=torch.bool, device=batch.tokens.device)
    is_original[positions] = False
    tokens = batch.tokens.new_full((len(is_original),), backbone.special.mask)
    tokens[is_original] = batch.tokens
    predicted = generator(TokenBatch(tokens, offsets), positions, random)
    return Edited(TokenBatch(tokens.index_copy(0, positions, predicted), offsets), (~is_original).long())


def delete(batch: TokenBatch, ratio: float, random: torch.Generator) -> Edited:
    """Delete random tokens; tokens after a deleted token have label 1.

    Special tokens at both ends are kept.

    Args:
        batch: The packed tokens of the sentences.
        ratio: The number of deleted tokens as a share of the tokens that are not special. It is rounded; a sentence of
            two or more tokens loses at least one token, and at least one token is kept.
        random: The source of random numbers.
    """
    inside = (batch.lengths - 2).clamp(min=0)
    fewer = torch.minimum((inside * ratio).round().long().clamp(min=1), (inside - 1).clamp(min=0))
    is_deleted = torch.zeros(len(batch.tokens), dtype=torch.bool)
    for start, free, count in zip(batch.offsets.tolist(), inside.tolist(), fewer.tolist(), strict=False):
        is_deleted[start + 1 + torch.randperm(free, generator=random)[:count]] = True
    # The special token at the end of a row is never deleted, so position 0 of the next row has label 0.
    labels = is_deleted.roll(1)[~is_deleted].long()
    offsets = torch.cat([fewer.new_zeros(1), (batch.lengths - fewer).cumsum(0)])
    tokens = batch.tokens[(~is_deleted).to(batch.tokens.device)]
    return Edited(TokenBatch(tokens, offsets), labels.to(tokens.device))
