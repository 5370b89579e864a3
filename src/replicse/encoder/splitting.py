"""Splitting of rows into batches of limited padded size."""

from collections.abc import Iterator

import numpy as np


def split_rows(
    rows: list[np.ndarray], size: int, shortest: int = 0, equal: bool = False
) -> Iterator[list[np.ndarray]]:
    """Split length-sorted rows into batches of limited padded size.

    A batch that is at least half full ends before longer rows, because rows of equal length need no padding. By
    default, a batch can contain rows of different lengths.

    Args:
        rows: A list of the token ids of each row, (length,), sorted by length.
        size: The maximum number of tokens of a batch, with padding.
        shortest: The length to which shorter rows are padded. Default: 0.
        equal: Whether all rows of a batch must have the same length. Default: False.

    Yields:
        Lists of rows, which are not padded yet.
    """
    start = 0
    lengths = [max(len(row), shortest) for row in rows]
    for stop, following in enumerate(lengths[1:], 1):
        count, longest = stop - start, lengths[stop - 1]
        is_full = (count + 1) * following > size
        may_end = equal or 2 * count * longest >= size
        if is_full or (following > longest and may_end):
            yield rows[start:stop]
            start = stop
    yield rows[start:]
