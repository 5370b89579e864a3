"""Hard negatives, selected by an encoder from the lines of a column."""

from collections.abc import Sequence

import numpy as np

from replicse.augment.lines import line_random
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.registry.frozen import FrozenModel

BLOCK = 256


def mined(lines: Sequence[str], *, seed: int, model: FrozenModel, rank: tuple[int, int]) -> list[str]:
    """Return for each line another line with a random rank by cosine.

    Args:
        lines: A list of the lines of a column.
        seed: The seed of the ranks.
        model: The encoder with a pooling.
        rank: The lowest and highest rank among all other lines; rank 1 is the nearest line.

    Returns:
        A list of lines, one for each line.

    Raises:
        BadInput: If there are fewer lines than the highest rank.
    """
    low, high = rank
    distinct = list(dict.fromkeys(lines))
    if high >= len(distinct):
        raise BadInput(
            f"mined.rank ends at {high}, but the column has {len(distinct)} different lines; use a lower rank"
        )
    vectors = SentenceEncoder.open(str(model.folder), model.pooling, engine=model.engine)(distinct)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    places = {line: place for place, line in enumerate(distinct)}
    result = []
    for start in range(0, len(lines), BLOCK):
        own = np.array([places[line] for line in lines[start : start + BLOCK]])
        cosines = vectors[own] @ vectors.T
        cosines[np.arange(len(own)), own] = np.inf  # the line itself has rank 0
        ranked = np.argsort(-cosines, axis=1, kind="stable")
        for number, row in enumerate(ranked):
            chosen = line_random(seed, start + number).randint(low, high)
            result.append(distinct[row[chosen]])
    return result
