"""Encoding of a batch in parts.

The rows are split over processes, and the rows of a process into chunks.

The loss is computed from the vectors of all rows, and the gradient with respect to the vectors is propagated through
each part. The gradient is therefore the gradient of the complete batch, not an average over parts (gradient caching,
Gao, Zhang, Han and Callan 2021). Only the encoder works in parts. Heads with batch statistics, and terms that have a
network, are computed on the complete batch in every process.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from replicse.encoder.backbone import Masks
from replicse.encoder.batch import TokenBatch
from replicse.training.processes import Processes


@dataclass(frozen=True)
class Parts:
    """How batches are split: over processes, and in chunks.

    Attributes:
        processes: The processes that train the run. Default: one.
        chunk: The maximum number of rows to encode at once in a process. Default: 0, no limit.
    """

    processes: Processes = field(default_factory=Processes)
    chunk: int = 0

    @property
    def whole(self) -> bool:
        """Return whether batches are not split."""
        return self.processes.count == 1 and not self.chunk

    def local_rows(self, rows: int) -> range:
        """Return the rows of a batch that this process encodes.

        Args:
            rows: The number of rows of the batch.

        Returns:
            The rows, empty if there are more processes than rows.
        """
        rank, count = self.processes.rank, self.processes.count
        return range(rank * rows // count, (rank + 1) * rows // count)

    def record(self) -> dict[str, int]:
        """Return the entries of the provenance record.

        Other parts sum in another order and, on a GPU, use other dropout masks.

        Returns:
            A dict with `processes` and `chunk`, empty if batches are not split.
        """
        return {} if self.whole else {"processes": self.processes.count, "chunk": self.chunk}


def encode_in_parts(
    encode: Callable[[TokenBatch], Tensor],
    columns: Sequence[TokenBatch],
    parts: Parts,
    masks: Callable[[TokenBatch], Masks | None],
) -> Tensor:
    """Encode columns in parts.

    If a process has several parts, the backward pass encodes each part again with the same dropout.

    Args:
        encode: A function from a batch to vectors, (rows, width).
        columns: The packed tokens of several views with the same number of rows.
        parts: How the batch is split.
        masks: A function that returns the dropout masks of a complete batch, or None. Without masks, each
            part uses a seed that is the same in all processes.

    Returns:
        The vectors of all columns, one after the other, (columns * rows, width).
    """
    whole, rows = TokenBatch.concatenate(columns), columns[0].rows
    local, share = parts.local_rows(rows), parts.processes.count
    if not local:
        # All processes need gradients of the same parameters: encode a row, with a share of 0.
        local, share = range(1), 0
    size = parts.chunk or len(local)
    chunks = [torch.arange(start, min(start + size, local.stop)) for start in local[::size]]
    all_masks = masks(whole)
    seed = 0 if all_masks else int(torch.randint(2**62, ()))
    device = whole.tokens.device
    cast = torch.is_autocast_enabled(device.type), torch.get_autocast_dtype(device.type)

    def encode_chunk(chunk: Tensor) -> Tensor:
        batch = TokenBatch.concatenate([each.slice(int(chunk[0]), int(chunk[-1]) + 1) for each in columns])
        if all_masks:
            batch = replace(batch, masks=all_masks.select_rows(_places(chunk, len(columns), rows)))
        seeded = nullcontext() if all_masks else _seeded(seed + int(chunk[0]), device)
        # The cache is disabled, because it would keep cast weights of a pass without gradients.
        with seeded, torch.autocast(device.type, cast[1], cast[0], cache_enabled=False):
            return encode(batch)

    is_one_chunk = len(chunks) == 1
    with torch.set_grad_enabled(is_one_chunk):
        encodings = [encode_chunk(chunk) for chunk in chunks]
    vectors = encodings[0].new_zeros(whole.rows, encodings[0].shape[1])
    places = [_places(chunk, len(columns), rows).to(device) for chunk in chunks]
    for place, values in zip(places, encodings, strict=True):
        vectors[place] = values.detach() if share else 0
    parts.processes.sum(vectors)

    @torch.enable_grad()
    def backward(gradient: Tensor) -> None:
        # Gradients are averaged over processes, but only this process has a gradient for its rows: multiply by count.
        for chunk, place in zip(chunks, places, strict=True):
            values = encodings[0] if is_one_chunk else encode_chunk(chunk)
            if values.requires_grad:  # False if the encoder is frozen
                values.backward(gradient[place] * share)

    vectors.requires_grad_().register_hook(backward)
    return vectors


def _places(chunk: Tensor, columns: int, rows: int) -> Tensor:
    """Return the positions of a chunk of each column among all columns."""
    return torch.cat([chunk + column * rows for column in range(columns)])


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
