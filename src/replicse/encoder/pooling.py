"""Poolings from hidden states to one vector a sentence."""

from collections.abc import Callable

import torch
from torch import Tensor

from replicse.encoder.backbone import FIRST_TOKEN, Hidden, Need
from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput, nearest
from replicse.registry.encoders import POOLINGS


def need_of(pooling: str) -> Need:
    """Return what a pooling reads from the encoder; raise BadInput for an unknown one."""
    if pooling not in POOLINGS:
        raise BadInput(f'pooling "{pooling}" is unknown{nearest(pooling, POOLINGS)}')
    return Need(POOLINGS[pooling]) if POOLINGS[pooling] else FIRST_TOKEN


def pool(
    hidden: Hidden, batch: TokenBatch, pooling: str, head: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Return one vector a row, (rows, hidden), from the states that `need_of(pooling)` names.

    Means are over all tokens of a row, special ones included. Where `hidden` holds all tokens, "cls" reads
    position 0 of its last state. "cls-head" and "random-head" without a head raise ValueError.
    """
    if need_of(pooling) == FIRST_TOKEN:
        first = hidden.last if hidden.first_only else hidden.last.index_select(0, batch.first)
        if pooling == "cls":
            return first
        if head is None:
            raise ValueError(f'pooling "{pooling}" needs a head')
        return head(first)
    return batch.mean(torch.stack(hidden.states).mean(0) if len(hidden.states) > 1 else hidden.last)
