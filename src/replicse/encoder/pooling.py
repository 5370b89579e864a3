"""Poolings from hidden states to one vector a sentence, and the heads of SimCSE and DiffCSE."""

import torch
from torch import Tensor, nn

from replicse.encoder.batch import TokenBatch
from replicse.encoder.linear import Linear
from replicse.encoder.transformer import FIRST_TOKEN, Hidden, Need, draw_normal
from replicse.errors import BadInput, nearest

_NEEDS = {
    "cls": FIRST_TOKEN,
    "cls-head": FIRST_TOKEN,
    "random-head": FIRST_TOKEN,
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


class Projector(nn.Module):
    """Two linear layers with batch normalisation behind each (DiffCSE, appendix A; methods 4.1).

    In training the statistics are those of all rows given at once, which are all rows of all views. The second
    normalisation has no weights of its own.
    """

    def __init__(self, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.expand = Linear(hidden, 2 * hidden, bias=False)
        self.expand_norm = nn.BatchNorm1d(2 * hidden)
        self.contract = Linear(2 * hidden, hidden, bias=False)
        self.contract_norm = nn.BatchNorm1d(hidden, affine=False)
        for layer in (self.expand, self.contract):
            draw_normal(layer.weight, 0.02, generator)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return (rows, hidden) vectors; in training their mean is 0 and their variance 1 over the rows."""
        widened = self.expand_norm(self.expand(vectors)).relu()
        return self.contract_norm(self.contract(widened))


# The heads by their names in a run.
HEADS: dict[str, type[Head] | type[Projector]] = {"mlp": Head, "projector": Projector}


def random_head(hidden: int) -> Head:
    """Return a head that no training has seen, the same one at every call.

    Loading a checkpoint without a pooler puts such a head on it; the reproducibility study measured alignment
    and uniformity through one (methods 1.8).
    """
    return Head(hidden, torch.Generator().manual_seed(0))


def need_of(pooling: str) -> Need:
    """Return what a pooling reads from the encoder; raise BadInput for an unknown one."""
    if pooling not in _NEEDS:
        raise BadInput(f'pooling "{pooling}" is unknown{nearest(pooling, POOLINGS)}')
    return _NEEDS[pooling]


def pool(hidden: Hidden, batch: TokenBatch, pooling: str, head: nn.Module | None = None) -> Tensor:
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
