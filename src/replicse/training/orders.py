"""Orders of rows: each returns the row numbers of an epoch, of which batches are read in turn."""

from collections import deque

import numpy as np

from replicse.registry.procedures import AscendingOrder, OrderParameters
from replicse.training.data import TrainingData


def shuffled(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return a fresh permutation."""
    return random.permutation(data.rows)


def sequential(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return the rows as they are."""
    return np.arange(data.rows)


def ascending(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: AscendingOrder
) -> np.ndarray:
    """Return the rows by a number of each, the lowest first, equal ones at random."""
    values = data.labels if parameters.by == "label" else data.columns[0].lengths
    mixed = random.permutation(data.rows)
    return mixed[np.argsort(np.asarray(values)[mixed], kind="stable")]


def balanced(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return rows of each label in turn, each label's in a random order that begins again where it has ended."""
    kinds = [np.flatnonzero(data.labels == label) for label in np.unique(np.asarray(data.labels))]
    turns = -(-data.rows // len(kinds))
    drawn = [np.resize(random.permutation(rows), turns) for rows in kinds]
    return np.stack(drawn, axis=1).reshape(-1)[: data.rows]


def distinct(
    data: TrainingData, epoch: int, random: np.random.Generator, parameters: OrderParameters
) -> np.ndarray:
    """Return a permutation; a row that has a text of its batch waits for the next one, while others are left."""
    waiting, result = deque(random.permutation(data.rows).tolist()), []
    while waiting:
        batch: list[int] = []
        seen: set[bytes] = set()
        passed: list[int] = []
        while waiting and len(batch) < data.batch_size:
            row = waiting.popleft()
            texts = {column.row(row).tobytes() for column in data.columns}
            (batch if seen.isdisjoint(texts) else passed).append(row)
            seen |= texts if batch[-1:] == [row] else set()
        missing = data.batch_size - len(batch)
        result += batch + passed[:missing]
        waiting.extendleft(reversed(passed[missing:]))
    return np.array(result)
