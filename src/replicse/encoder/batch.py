"""Token sequences packed end to end, and the index tensors that the encoder derives from their lengths."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor


class PartMasks(Protocol):
    """Dropout masks of some rows of a batch that is encoded in parts, one after another as the layers ask for them."""

    def kept(self, shape: Sequence[int], dropped: int) -> Tensor:
        """Return the next one, true where a value is kept: of 2**16 as many as are `dropped` are not."""


@dataclass(frozen=True)
class TokenBatch:
    """Sequences of token ids packed end to end: no padding anywhere.

    `tokens` is (total,) int64 on any device; `offsets` is (rows + 1,) int64 and belongs on the CPU, because
    the lengths shape the computation and reading them from a GPU would stall it. `copy` is the copy of the tokens
    that stayed on the CPU, for the same reason. Index tensors are made once per batch, on the device of the tokens.
    """

    tokens: Tensor
    offsets: Tensor
    # Those that the layers take, where they draw none of their own.
    masks: PartMasks | None = field(default=None, kw_only=True)
    copy: Tensor | None = field(default=None, kw_only=True)

    @staticmethod
    def from_rows(rows: Sequence[np.ndarray]) -> "TokenBatch":
        """Pack arrays of token ids; raise ValueError where there is no row or an empty one."""
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        if not len(lengths) or not lengths.min():
            raise ValueError("a batch needs at least one row, and every row at least one token")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.concatenate(rows).astype(np.int64)
        return TokenBatch(torch.from_numpy(tokens), torch.from_numpy(offsets))

    @staticmethod
    def concatenate(batches: Sequence["TokenBatch"]) -> "TokenBatch":
        """Put the rows of several batches one after another."""
        lengths = torch.cat([batch.lengths for batch in batches])
        tokens, offsets = torch.cat([batch.tokens for batch in batches]), offsets_of(lengths)
        real = [batch.real for batch in batches if isinstance(batch, FilledBatch)]
        if real:
            return FilledBatch(tokens, offsets, torch.cat(real))
        copies = [batch.copy for batch in batches if batch.copy is not None]
        return TokenBatch(tokens, offsets, copy=torch.cat(copies) if len(copies) == len(batches) else None)

    def repeat(self, times: int) -> "TokenBatch":
        """Return all rows `times` times over: rows of the first copy, rows of the second, and so on."""
        return TokenBatch(self.tokens.repeat(times), offsets_of(self.lengths.repeat(times)))

    def slice(self, start: int, stop: int) -> "TokenBatch":
        """Return the rows from `start` up to `stop` (not included)."""
        offsets = self.offsets[start : stop + 1]
        within = slice(int(offsets[0]), int(offsets[-1]))
        copy = None if self.copy is None else self.copy[within]
        return TokenBatch(self.tokens[within], offsets - offsets[0], copy=copy)

    def to(self, device: torch.device | str) -> "TokenBatch":
        """Return the batch with its tokens on a device; the offsets stay where they are."""
        tokens = self.tokens.to(device, non_blocking=True)
        return TokenBatch(tokens, self.offsets, copy=None if tokens is self.tokens else self.on_cpu)

    @property
    def on_cpu(self) -> Tensor:
        """Return the tokens on the CPU, (total,); without a copy there they are copied."""
        return self.tokens.cpu() if self.copy is None else self.copy

    @property
    def rows(self) -> int:
        """Return the number of sequences."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Tensor:
        """Return the number of tokens of each row, (rows,), next to the offsets."""
        return self.offsets.diff()

    @cached_property
    def longest(self) -> int:
        """Return the length of the longest row."""
        return int(self.lengths.max())

    @cached_property
    def even(self) -> bool:
        """Return whether all rows have the same length, so that padding adds nothing."""
        return self.rows * self.longest == len(self.tokens)

    @cached_property
    def first(self) -> Tensor:
        """Return the place of position 0 of each row among the tokens, (rows,)."""
        return self._on_device(self.offsets[:-1])

    @cached_property
    def last(self) -> Tensor:
        """Return the place of the last token of each row among the tokens, (rows,)."""
        return self._on_device(self.offsets[1:] - 1)

    @cached_property
    def row_ids(self) -> Tensor:
        """Return the row of each token, (total,)."""
        rows = torch.arange(self.rows)
        return self._on_device(rows.repeat_interleave(self.lengths.cpu(), output_size=len(self.tokens)))

    @cached_property
    def positions(self) -> Tensor:
        """Return the position of each token within its row, from 0, (total,)."""
        return torch.arange(len(self.tokens), device=self.tokens.device) - self.first[self.row_ids]

    @property
    def given_positions(self) -> Tensor | None:
        """Return the rows of the table of positions to read, (total,); None for those within the rows."""
        return None

    @cached_property
    def padded_places(self) -> Tensor:
        """Return the place of each token in a padded (rows * longest) layout, (total,)."""
        return self.row_ids * self.longest + self.positions

    @cached_property
    def padded_mask(self) -> Tensor:
        """Return True at the tokens of a padded (rows, longest) layout and False at its padding."""
        columns = torch.arange(self.longest, device=self.tokens.device)
        return columns < self._on_device(self.lengths)[:, None]

    def head_places(self, parts: int, heads: int) -> Tensor:
        """Return the place in a (parts, rows, heads, longest) layout of each token's heads, token by token, as (n,)."""
        return self._of_heads("places", parts, heads)

    def head_sources(self, parts: int, heads: int) -> Tensor:
        """Return which head of a (total, parts, heads) layout is at each place of (parts, rows, heads, longest).

        Padding shows the last token of its row.
        """
        return self._of_heads("sources", parts, heads)

    def _of_heads(self, what: str, parts: int, heads: int) -> Tensor:
        key = what, parts, heads
        if key not in self._head_indices:
            part, head = (torch.arange(count, device=self.tokens.device) for count in (parts, heads))
            if what == "places":
                rows, within = (self.row_ids[:, None, None], self.positions[:, None, None])
                indices = ((part[:, None] * self.rows + rows) * heads + head) * self.longest + within
            else:
                columns = torch.arange(self.longest, device=self.tokens.device)
                ends = self._on_device(self.lengths)[:, None] - 1
                tokens = self.first[:, None] + torch.minimum(columns, ends)
                indices = (tokens[:, None] * parts + part[:, None, None, None]) * heads + head[:, None]
            self._head_indices[key] = indices.flatten()
        return self._head_indices[key]

    @cached_property
    def _head_indices(self) -> dict[tuple[str, int, int], Tensor]:
        return {}

    @property
    def attention_mask(self) -> Tensor | None:
        """Return what attention may read in the padded layout, (rows, longest); None where it may read all."""
        return None if self.even else self.padded_mask

    def filled(self, token: int, length: int | None = None) -> "TokenBatch":
        """Return the rows filled up with a token that is computed with, but never attended to.

        They are as long as the longest, or as a given `length` that is no shorter.
        """
        if length is None and self.even:
            return self
        length = length or self.longest
        tokens = self.tokens.new_full((self.rows * length,), token)
        tokens = tokens.index_copy(0, self.row_ids * length + self.positions, self.tokens)
        columns = torch.arange(length, device=self.tokens.device)
        real = columns < self._on_device(self.lengths)[:, None]
        return FilledBatch(tokens, torch.arange(self.rows + 1) * length, real)

    def pad(self, values: Tensor) -> Tensor:
        """Lay packed (total, width) values out as (rows, longest, width), zeros after the shorter rows."""
        if not self.even:
            zeros = values.new_zeros(self.rows * self.longest, values.shape[1])
            values = zeros.index_copy_(0, self.padded_places, values)
        return values.view(self.rows, self.longest, -1)

    def unpad(self, padded: Tensor) -> Tensor:
        """Pack (rows, longest, width) values as (total, width), leaving the padding out."""
        flat = padded.reshape(self.rows * self.longest, -1)
        return flat if self.even else flat.index_select(0, self.padded_places)

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of packed (total, width) values over the tokens of each row, (rows, width)."""
        return self.pad(values).sum(1) / self._on_device(self.lengths)[:, None]

    def _on_device(self, values: Tensor) -> Tensor:
        return values.to(self.tokens.device, non_blocking=True)


@dataclass(frozen=True)
class FilledBatch(TokenBatch):
    """Rows of one length whose ends are padding; `real` (rows, length) is False there. Made right before encoding."""

    real: Tensor

    def slice(self, start: int, stop: int) -> "FilledBatch":
        """Return the rows from `start` up to `stop` (not included)."""
        rows = super().slice(start, stop)
        return FilledBatch(rows.tokens, rows.offsets, self.real[start:stop])

    @property
    def attention_mask(self) -> Tensor:
        """Return what attention may read, (rows, length)."""
        return self.real


@dataclass(frozen=True)
class PlacedBatch(TokenBatch):
    """Rows whose tokens the encoder sees at other positions than their own: `places` in its table of them, (total,)."""

    places: Tensor

    @property
    def given_positions(self) -> Tensor:
        """Return the rows of the table of positions to read, (total,)."""
        return self.places


def offsets_of(lengths: Tensor) -> Tensor:
    """Return where rows of these lengths begin and end when they are packed, (rows + 1,)."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
