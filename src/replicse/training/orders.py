"""Orders of rows.

Each function returns the row numbers of an epoch, (rows,), int64. Batches are consecutive parts of the
result. The arguments are:

- data: the data of a source
- epoch: the number of the epoch, from 0
- random: a generator seeded by the run and the epoch
- parameters: the parameters of the order
"""

from collections import deque

import numpy as np

from replicse.registry.procedures import AscendingOrder, OrderParameters
from replicse.training.data import TrainingData


def shuffled(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return a new permutation."""
    return random.permutation(data.rows)


def sequential(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return the rows in the order of the corpus."""
    return np.arange(data.rows)


def ascending(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: AscendingOrder
) -> np.ndarray:
    """Return the rows sorted by label or length, lowest first.

    Ties are in random order.
    """
    values = data.labels if parameters.by == "label" else data.columns[0].lengths
    mixed = random.permutation(data.rows)
    return mixed[np.argsort(np.asarray(values)[mixed], kind="stable")]


def balanced(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return rows of each label in turn.

    The rows of a label are in random order. They repeat if the label has too few rows.
    """
    labels = np.unique(np.asarray(data.labels))
    turns = -(-data.rows // len(labels))
    columns = []
    for label in labels:
        rows = np.flatnonzero(data.labels == label)
        columns.append(np.resize(random.permutation(rows), turns))
    return np.stack(columns, axis=1).reshape(-1)[: data.rows]


def distinct(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return a permutation in which no batch repeats a text, if possible."""
    waiting, result = deque(random.permutation(data.rows).tolist()), []
    while waiting:
        batch: list[int] = []
        seen: set[bytes] = set()
        postponed: list[int] = []
        while waiting and len(batch) < data.batch_size:
            row = waiting.popleft()
            texts = {column.row(row).tobytes() for column in data.columns}
            if seen.isdisjoint(texts):
                batch.append(row)
                seen |= texts
            else:
                postponed.append(row)
        missing = data.batch_size - len(batch)
        result += batch + postponed[:missing]
        waiting.extendleft(reversed(postponed[missing:]))
    return np.array(result)
