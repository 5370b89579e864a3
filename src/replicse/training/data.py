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
    """The batches of a source, from token columns in a seeded order.

    The columns are memory-mapped. The last batch of an epoch can be smaller. A step loads `accumulate`
    batches at once.

    Args:
        stores: A list with the store of each view. All stores have the same number of rows.
        batch_size: The number of rows of a batch.
        seed: The seed of the order.
        order: The order of rows. Default: a new permutation in each epoch.
        accumulate: The number of batches of a step. Default: 1.

    Raises:
        BadInput: If the columns are empty or have different numbers of rows.
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
            problem = "the views have different numbers of rows or are empty"
            raise BadInput(f"{stores[0]}: {problem}; use stores of the same corpus")
        self.rows = len(self.columns[0])
        self.batch_size, self.seed, self.order = batch_size, seed, order
        self.rows_per_step = batch_size * accumulate
        self.labels = self.columns[0].labels
        # For each view the first view with the same store: it is read and packed once.
        names = [str(store) for store in stores]
        self.distinct = [names.index(name) for name in names]

    def batches(self, start: int, steps: int) -> Iterator[tuple[list[TokenBatch], Tensor | None]]:
        """Yield the batches of the steps from `start` to `steps` - 1.

        A resumed run gets the same batches.

        Args:
            start: The first step, from 0.
            steps: The step after the last.

        Yields:
            The packed tokens of each view, and the labels, (rows,), or None.

        Raises:
            BadInput: If the order has another number of rows than the store.
        """
        per_epoch = math.ceil(self.rows / self.rows_per_step)
        for epoch in range(start // per_epoch, math.ceil(steps / per_epoch)):
            random = np.random.default_rng([self.seed, epoch])
            with self.order.name_in_errors():
                order = self.order.made_by()(self, epoch, random, self.order)
            if len(order) != self.rows:
                raise BadInput(f"order {self.order.order} has {len(order)} rows; expected {self.rows}")
            first = max(start, epoch * per_epoch)
            for step in range(first, min(steps, (epoch + 1) * per_epoch)):
                place = (step - epoch * per_epoch) * self.rows_per_step
                rows = order[place : place + self.rows_per_step]
                labels = None if self.labels is None else torch.from_numpy(self.labels[rows])
                yield self._columns(rows), labels

    def _columns(self, chosen: np.ndarray) -> list[TokenBatch]:
        """Pack some rows of each view; views with the same store share one object."""
        packed: dict[int, TokenBatch] = {}
        for index in set(self.distinct):
            rows = [self.columns[index].row(int(row)) for row in chosen]
            packed[index] = TokenBatch.from_rows(rows)
        return [packed[index] for index in self.distinct]


def alternate_sources(
    sources: Sequence[TrainingData], start: int, steps: int
) -> Iterator[tuple[int, list[TokenBatch], Tensor | None]]:
    """Yield a step of each source in turn.

    Args:
        sources: A list of sources.
        start: The first step, from 0.
        steps: The number of steps of the run.

    Yields:
        The number of the source, the packed tokens of each view, and the labels, (rows,), or None.
    """
    count = len(sources)
    iterators = []
    for place, source in enumerate(sources):
        steps_before = len(range(place, start, count))
        iterators.append(source.batches(steps_before, len(range(place, steps, count))))
    for step in range(start, steps):
        yield step % count, *next(iterators[step % count])
