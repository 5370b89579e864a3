"""Edits of sentences and the labels that say where: replaced, inserted and deleted tokens (DiffCSE, section 5)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.objective.generator import Generator
from replicse.objective.mlm import masked_copy
from replicse.registry.terms import Rewriting


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
