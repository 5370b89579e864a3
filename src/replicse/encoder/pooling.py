"""Poolings from hidden states to one vector a sentence, and the head of SimCSE."""

import torch
from torch import Tensor, nn

from replicse.encoder.batch import TokenBatch
from replicse.encoder.linear import Linear
from replicse.encoder.transformer import FIRST_TOKEN, Hidden, Need, draw_normal
from replicse.errors import BadInput, nearest

_NEEDS = {
    "cls": FIRST_TOKEN,
    "cls-head": FIRST_TOKEN,
    "mean": Need((-1,)),
    "first-last": Need((1, -1)),
    "first-last-0": Need((0, -1)),
    "last2": Need((-2, -1)),
}
POOLINGS = tuple(_NEEDS)


class Head(nn.Module):
    """Linear layer and tanh on the vector of position 0; freshly drawn on purpose (SimCSE, methods 1.2)."""

    def __init__(self, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.dense = Linear(hidden, hidden)
        draw_normal(self.dense.weight, 0.02, generator)
        nn.init.zeros_(self.dense.bias)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return (rows, hidden) vectors in (-1, 1)."""
        return self.dense(vectors).tanh()


def need_of(pooling: str) -> Need:
    """Return what a pooling reads from the encoder; raise BadInput for an unknown one."""
    if pooling not in _NEEDS:
        raise BadInput(f'pooling "{pooling}" is unknown{nearest(pooling, POOLINGS)}')
    return _NEEDS[pooling]


def pool(hidden: Hidden, batch: TokenBatch, pooling: str, head: nn.Module | None = None) -> Tensor:
    """Return one vector a row, (rows, hidden), from the states that `need_of(pooling)` names.

    Means are over all tokens of a row, special ones included. Where `hidden` holds all tokens, "cls" reads
    position 0 of its last state. "cls-head" without a head raises ValueError.
    """
    if need_of(pooling) == FIRST_TOKEN:
        first = hidden.last if hidden.first_only else hidden.last.index_select(0, batch.first)
        if pooling == "cls":
            return first
        if head is None:
            raise ValueError('pooling "cls-head" needs a head')
        return head(first)
    return batch.mean(torch.stack(hidden.states).mean(0) if len(hidden.states) > 1 else hidden.last)
