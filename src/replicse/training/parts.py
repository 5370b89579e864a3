"""A batch that is encoded in parts: its rows over processes, and those of a process in chunks.

The loss sees the vectors of all rows at once, and its gradient at them is what each part is differentiated with:
the gradient is that of the whole batch, not of an average over parts (gradient caching, Gao, Zhang, Han and Callan
2021). Only the encoder works in parts: heads, their batch statistics, and terms that run a network of their own see
the whole batch, in every process.
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
    """How batches are split: over processes, and each one's rows in chunks of at most `chunk`, where it is not 0."""

    processes: Processes = field(default_factory=Processes)
    chunk: int = 0

    @property
    def whole(self) -> bool:
        """Return whether batches are not split at all."""
        return self.processes.count == 1 and not self.chunk

    def local_rows(self, rows: int) -> range:
        """Return the rows of a batch that are this process's; none where there are fewer than processes."""
        rank, count = self.processes.rank, self.processes.count
        return range(rank * rows // count, (rank + 1) * rows // count)

    def record(self) -> dict[str, int]:
        """Return what provenance says of it: other parts sum in another order, and draw other masks on a GPU."""
        return {} if self.whole else {"processes": self.processes.count, "chunk": self.chunk}


def encode_in_parts(
    encode: Callable[[TokenBatch], Tensor],
    columns: Sequence[TokenBatch],
    parts: Parts,
    masks: Callable[[TokenBatch], Masks | None],
) -> Tensor:
    """Return what `encode` makes of the concatenated columns, (rows of all, width), encoded in parts.

    A backward pass encodes each part again, with the same dropout, where there are several in this process. `masks`
    returns those of a whole batch; where it has none, each part draws its own from a seed that all processes know.
    """
    whole, rows = TokenBatch.concatenate(columns), columns[0].rows
    local = parts.local_rows(rows)
    # A process without rows encodes one and counts it as nothing: all have gradients at the same parameters.
    share, local = (parts.processes.count, local) if local else (0, range(1))
    size = parts.chunk or len(local)
    starts = [torch.arange(start, min(start + size, local.stop)) for start in local[::size]]
    drawn = masks(whole)
    seed = 0 if drawn else int(torch.randint(2**62, ()))
    device = whole.tokens.device
    cast = torch.is_autocast_enabled(device.type), torch.get_autocast_dtype(device.type)

    def encoded(part: Tensor) -> Tensor:
        batch = TokenBatch.concatenate([each.slice(int(part[0]), int(part[-1]) + 1) for each in columns])
        if drawn:
            batch = replace(batch, masks=drawn.of_rows(_places(part, len(columns), rows)))
        drawing = nullcontext() if drawn else _seeded(seed + int(part[0]), device)
        # The cache of casted weights must not keep those of a pass without gradients.
        with drawing, torch.autocast(device.type, cast[1], cast[0], cache_enabled=False):
            return encode(batch)

    kept = len(starts) == 1
    with torch.set_grad_enabled(kept):
        encodings = [encoded(part) for part in starts]
    vectors = encodings[0].new_zeros(whole.rows, encodings[0].shape[1])
    places = [_places(part, len(columns), rows).to(device) for part in starts]
    for place, values in zip(places, encodings, strict=True):
        vectors[place] = values.detach() if share else 0
    parts.processes.sum(vectors)

    @torch.enable_grad()
    def backward(gradient: Tensor) -> None:
        # Of gradients the mean over processes is taken, and only this one has those of its part.
        for part, place in zip(starts, places, strict=True):
            values = encodings[0] if kept else encoded(part)
            if values.requires_grad:  # not where the whole encoder is frozen
                values.backward(gradient[place] * share)

    vectors.requires_grad_().register_hook(backward)
    return vectors


def _places(part: Tensor, columns: int, rows: int) -> Tensor:
    """Return the numbers of some rows of each column in the concatenation of all."""
    return torch.cat([part + column * rows for column in range(columns)])


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
