"""Edits of sentences by a frozen masked-LM, and the labels that say where: replaced, inserted and deleted tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput
from replicse.objective.frozen import open_frozen
from replicse.objective.mlm import masked_copy

from .method import Rewriting

# Tokens whose logits over the vocabulary are made at once: few enough that a CPU keeps them in its cache.
_CHUNK = 256


class Generator:
    """A masked-LM that is never trained and always runs with dropout (methods 4.1).

    In the released code it sits inside the model, so that training mode leaves its dropout on. It is no module
    here: neither the optimiser nor the resume state should know it.
    """

    def __init__(self, rewriting: Rewriting, trained: Backbone) -> None:
        if rewriting.generator is None:
            raise BadInput(f"{rewriting.term} has no generator; name a masked-LM")
        self.backbone, self.choice = open_frozen(rewriting.generator, trained).train(), rewriting.choice
        if not self.backbone.predicts_tokens:
            raise BadInput(f"{rewriting.generator.folder}: holds no masked-LM head; a generator needs one")

    @torch.no_grad()
    def __call__(self, batch: TokenBatch, positions: Tensor | None, generator: torch.Generator) -> Tensor:
        """Return the token ids it puts at packed positions of a batch; at all of them for None."""
        states = self.backbone(batch).last
        states = states if positions is None else states[positions]
        ids = [self._chosen(part, generator) for part in states.split(_CHUNK)]
        return torch.cat(ids) if ids else batch.tokens[:0]

    def _chosen(self, states: Tensor, generator: torch.Generator) -> Tensor:
        # In half precision close logits tie, and a tie would read as a replaced token.
        with torch.autocast(states.device.type, enabled=False):
            logits = self.backbone.token_logits(states.float())
        if self.choice == "argmax":
            return logits.argmax(dim=1)
        below = logits.softmax(dim=1).cumsum(dim=1)
        drawn = torch.rand(len(below), 1, generator=generator).to(below.device) * below[:, -1:]
        return torch.searchsorted(below, drawn, right=True).squeeze(1)


@dataclass(frozen=True)
class Edited:
    """Edited sentences, packed, and a label (0 or 1) for each of their tokens, (total,)."""

    batch: TokenBatch
    labels: Tensor


def replace(
    batch: TokenBatch, rewriting: Rewriting, generator: Generator, backbone: Backbone, random: torch.Generator
) -> Edited:
    """Mask a share of the tokens and let the generator rewrite them; label 1 where another token is then.

    With places "all" every token is rewritten, masked or not, as the released code does; so unmasked tokens,
    and even [SEP], can be replaced. Position 0 is always the original's (methods 4.1).
    """
    masked = masked_copy(batch, backbone, rewriting.ratio, random)
    if rewriting.places == "all":
        tokens = generator(masked.batch, None, random)
    else:
        written = generator(masked.batch, masked.positions, random)
        tokens = batch.tokens.index_copy(0, masked.positions, written)
    tokens = tokens.index_fill(0, batch.first, backbone.special.cls)
    return Edited(TokenBatch(tokens, batch.offsets), (tokens != batch.tokens).long())


def insert(
    batch: TokenBatch, ratio: float, generator: Generator, backbone: Backbone, random: torch.Generator
) -> Edited:
    """Insert tokens of the generator that amount to a share of a sentence's length; label 1 at these.

    The number is rounded, at least 1 for a sentence with any token of its own; places between the first and the
    last special token are equally likely. The other tokens stay as they are ([unspec] in the paper).
    """
    inside = (batch.lengths - 2).clamp(min=0)
    more = torch.where(inside > 0, (inside * ratio).round().long().clamp(min=1), 0)
    offsets = torch.cat([more.new_zeros(1), (batch.lengths + more).cumsum(0)])
    chosen = [
        start + 1 + torch.randperm(free, generator=random)[:count]
        for start, free, count in zip(
            offsets[:-1].tolist(), (inside + more).tolist(), more.tolist(), strict=True
        )
    ]
    positions = torch.cat(chosen).sort().values.to(batch.tokens.device)
    new = torch.ones(int(offsets[-1]), dtype=torch.bool, device=batch.tokens.device)
    new[positions] = False
    tokens = batch.tokens.new_full((len(new),), backbone.special.mask)
    tokens[new] = batch.tokens
    filled = generator(TokenBatch(tokens, offsets), positions, random)
    return Edited(TokenBatch(tokens.index_copy(0, positions, filled), offsets), (~new).long())


def delete(batch: TokenBatch, ratio: float, random: torch.Generator) -> Edited:
    """Delete a share of the tokens; label 1 where the token before was deleted.

    The number is rounded, at least 1 of a sentence of two or more tokens and never all; special tokens at both
    ends stay.
    """
    inside = (batch.lengths - 2).clamp(min=0)
    fewer = torch.minimum((inside * ratio).round().long().clamp(min=1), (inside - 1).clamp(min=0))
    gone = torch.zeros(len(batch.tokens), dtype=torch.bool)
    for start, free, count in zip(batch.offsets.tolist(), inside.tolist(), fewer.tolist(), strict=False):
        gone[start + 1 + torch.randperm(free, generator=random)[:count]] = True
    # The last token of a row is never deleted, so position 0 of the next row gets label 0.
    labels = gone.roll(1)[~gone].long()
    offsets = torch.cat([fewer.new_zeros(1), (batch.lengths - fewer).cumsum(0)])
    tokens = batch.tokens[(~gone).to(batch.tokens.device)]
    return Edited(TokenBatch(tokens, offsets), labels.to(tokens.device))
