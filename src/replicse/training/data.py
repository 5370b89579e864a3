"""The order in which a run reads its stores."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from replicse.data.store import TokenColumn, open_store
from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput
from replicse.registry.procedures import OrderParameters, ShuffledOrder

SHUFFLED = ShuffledOrder(order="shuffled")


class TrainingData:
    """Memory-mapped view columns read in a seeded order, by default a fresh permutation each epoch; last batch kept.

    A step reads `accumulate` batches at once.
    """

    def __init__(
        self,
        stores: Sequence[Path],
        batch_size: int,
        seed: int,
        order: OrderParameters = SHUFFLED,
        accumulate: int = 1,
    ) -> None:
        self.stores = stores
        self.columns: list[TokenColumn] = [open_store(store) for store in stores]
        rows = {len(column) for column in self.columns}
        if len(rows) != 1 or not rows.pop():
            raise BadInput(f"{stores[0]}: the views differ in rows or are empty; name stores of one corpus")
        self.rows = len(self.columns[0])
        self.batch_size, self.seed, self.order = batch_size, seed, order
        self.rows_per_step = batch_size * accumulate
        self.labels = self.columns[0].labels
        # A column used twice is read and packed once.
        self.distinct = [list(map(str, stores)).index(str(store)) for store in stores]

    def batches(self, start: int, steps: int) -> Iterator[tuple[list[TokenBatch], Tensor | None]]:
        """Yield the view columns and labels of steps `start` .. `steps` - 1; a resumed run sees the same batches."""
        per_epoch = math.ceil(self.rows / self.rows_per_step)
        for epoch in range(start // per_epoch, math.ceil(steps / per_epoch)):
            random = np.random.default_rng([self.seed, epoch])
            order = self.order.made_by()(self, epoch, random, self.order)
            if len(order) != self.rows:
                raise BadInput(
                    f"order {self.order.order} has {len(order)} rows of {self.rows}; return as many"
                )
            first = max(start, epoch * per_epoch)
            for step in range(first, min(steps, (epoch + 1) * per_epoch)):
                place = (step - epoch * per_epoch) * self.rows_per_step
                rows = order[place : place + self.rows_per_step]
                labels = None if self.labels is None else torch.from_numpy(self.labels[rows])
                yield self._columns(rows), labels

    def _columns(self, chosen: np.ndarray) -> list[TokenBatch]:
        packed = {
            index: TokenBatch.from_rows([self.columns[index].row(int(row)) for row in chosen])
            for index in set(self.distinct)
        }
        return [packed[index] for index in self.distinct]


def in_turn(
    sources: Sequence[TrainingData], start: int, steps: int
) -> Iterator[tuple[int, list[TokenBatch], Tensor | None]]:
    """Yield place of the source, view columns and labels of each step: one batch of each source in turn."""
    count = len(sources)
    each = [
        source.batches(len(range(place, start, count)), len(range(place, steps, count)))
        for place, source in enumerate(sources)
    ]
    for step in range(start, steps):
        yield step % count, *next(each[step % count])
